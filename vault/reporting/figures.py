"""Figures: what the audit log says of a quarter, dataset by dataset; names, amounts and moments, no question."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dp.accounting.either_rule import Limits
from vault.reporting.account import Account
from vault.reporting.amount import Amount

__all__ = [
    "AnalystFigures",
    "Change",
    "DatasetFigures",
    "Lifetime",
    "LogFigures",
    "ScopeFigures",
    "SharedFigures",
    "Unanswered",
]


@dataclass(frozen=True, slots=True)
class Lifetime:
    """What a dataset may cost one person for ever, as it was declared last. atto_delta: of the whole."""

    limits: Limits
    atto_delta: int


@dataclass(frozen=True, slots=True)
class AnalystFigures:
    """Of one principal and one dataset, in the quarter."""

    principal: str
    spent: Amount
    repeats: int
    refusals: int


@dataclass(frozen=True, slots=True)
class ScopeFigures:
    """Of a budget of a window, a column, an analyst or a group of analysts: what the quarter's charges took from it.

    kind, subject, span: as the ledger names them. cap_nano: as it was declared last until the quarter's end, None where
    there is none. One charge can be in several, so that these do not add up to the dataset's.
    """

    kind: str
    subject: str
    span: str
    cap_nano: int | None
    charges: int
    nano_epsilon: int


@dataclass(frozen=True, slots=True)
class Unanswered:
    """Charges without an answer of their own; they stay spent. cause: an error's class, "" where none was recorded.

    entries: their numbers in the log.
    """

    cause: str
    spent: Amount
    entries: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DatasetFigures:
    """Of one dataset. lifetime: None where no budget was declared before the quarter's end.

    before, spent: until the quarter, and in it. weeks, days: of the quarter, in order; they add up to spent, and so do
    the analysts. refusals: by reason, and what was short where the log says it.
    """

    dataset: str
    epoch: int
    lifetime: Lifetime | None
    before: Amount
    spent: Amount
    weeks: tuple[Amount, ...]
    days: tuple[Amount, ...]
    analysts: tuple[AnalystFigures, ...]
    scopes: tuple[ScopeFigures, ...]
    refusals: Mapping[str, int]
    repeats: int
    unanswered: tuple[Unanswered, ...]
    accounts: tuple[Account, ...]

    @property
    def until_end(self) -> Amount:
        """What was spent for ever, as the quarter ended."""
        return self.before.plus(self.spent)


@dataclass(frozen=True, slots=True)
class SharedFigures:
    """Of a lifetime that several datasets share. until_end: with what each had spent before it joined.

    spent: in the quarter, by those that were in it.
    """

    name: str
    datasets: tuple[str, ...]
    lifetime: Lifetime
    spent: Amount
    until_end: Amount


@dataclass(frozen=True, slots=True)
class Change:
    """An operator's act in the quarter: a budget that was declared, an epoch that was advanced.

    sequence: of the entry. dataset: or the name of a lifetime that several share. members: the rest of what the entry
    says, by name.
    """

    sequence: int
    at: int
    kind: str
    dataset: str
    reason: str
    members: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LogFigures:
    """kinds: entries of the quarter, by their kind. events: those of keys and jobs, by what happened.

    later: entries after it. begins_at: when the first of all entries was written, in microseconds since 1970; None
        where there is none.
    """

    datasets: tuple[DatasetFigures, ...]
    shared: tuple[SharedFigures, ...]
    changes: tuple[Change, ...]
    kinds: Mapping[str, int]
    events: Mapping[str, int]
    later: int
    begins_at: int | None = None
