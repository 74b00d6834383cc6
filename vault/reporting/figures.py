"""Figures: what the audit log says of a quarter, dataset by dataset; names, amounts and moments, no question."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dp.accounting.either_rule import Limits
from vault.reporting.account import Account
from vault.reporting.amount import Amount

__all__ = ["AnalystFigures", "Change", "DatasetFigures", "Lifetime", "LogFigures", "ScopeFigures", "Unanswered"]


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
    """Of a budget that is of a column, a group of analysts or a window: what the quarter's charges took from it.

    kind: as the ledger names it. One charge can be in several, so that these do not add up to the dataset's.
    """

    kind: str
    subject: str
    span: str
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
    the analysts. columns, scopes: of the charges that say so.
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
class Change:
    """An operator's act in the quarter: a budget that was declared, an epoch that was advanced.

    sequence: of the entry. members: the rest of what the entry says, by name.
    """

    sequence: int
    at: int
    kind: str
    dataset: str
    reason: str
    members: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LogFigures:
    """kinds: entries of the quarter, by their kind. later: entries after it."""

    datasets: tuple[DatasetFigures, ...]
    changes: tuple[Change, ...]
    kinds: Mapping[str, int]
    later: int
