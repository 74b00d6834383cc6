"""Budget display: what a dataset may cost and has cost, a bar for each budget, with the loss for life beside each."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from rich.table import Column, Table
from rich.text import Text

import dp
from dp.ledger import Ledger, Status
from dp.ledger.limits.budgets import KINDS, Budgets
from dp.ledger.limits.copies import is_of_copies
from dp.ledger.limits.scope_status import ScopeStatus
from dp.ledger.limits.shared import SharedStatus
from dp.ledger.limits.spans import SPANS
from kms.utc_text import to_the_minute
from vault.cli.bar import Bar

__all__ = ["ShownBudget", "in_one_line"]

HEADS: Final = ("budget", "within", "", "spent", "of", "more from", "for life")
FOR_EVER: Final = "ever"


@dataclass(frozen=True, slots=True)
class ShownBudget:
    """Of one dataset, as the ledger has it."""

    status: Status
    budgets: Budgets
    scopes: tuple[ScopeStatus, ...]
    shared: tuple[SharedStatus, ...]

    @classmethod
    def of(cls, ledger: Ledger, dataset: str) -> "ShownBudget":
        """Raises: UnknownDatasetError."""
        scopes = tuple(sorted(ledger.scopes(dataset), key=_order))
        return cls(ledger.status(dataset), ledger.budgets(dataset), scopes, ledger.shared_lifetimes(dataset))

    def in_lines(self) -> list[str]:
        """What is beside the bars."""
        lines = [in_one_line(self.status.dataset, self.status)]
        least, most = self.budgets.least_nano, self.budgets.most_nano
        limits = [f"{word} {dp.show(nano)}" for word, nano in (("at least", least), ("at most", most)) if nano]
        if limits:
            lines.append(f"one question costs epsilon {' and '.join(limits)}")
        return lines

    def in_a_table(self) -> Table:
        columns = (Column(head, no_wrap=True) for head in HEADS)
        table = Table(*columns, box=None, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_row(*_row("lifetime", FOR_EVER, self.status.spent, self.status.lifetime))
        for shared in self.shared:
            table.add_row(*_row(_name_of(shared), FOR_EVER, shared.status.spent, shared.status.lifetime))
        for one in self.scopes:
            for_life = self.status.spent if one.scope.kind == "dataset" else one.ever_nano
            what, span, cap = _subject_of(one), one.scope.span, one.scope.cap_nano
            if _is_pattern(one):
                table.add_row(Text(what), span, "", "", dp.show(cap))
            else:
                table.add_row(*_row(what, span, one.spent_nano, cap, for_life, one.refills_at))
        return table

    def in_json(self) -> dict[str, Any]:
        """Amounts as text, exact; moments in UTC."""
        return {
            "dataset": self.status.dataset,
            "epoch": self.status.epoch,
            **_amounts(self.status),
            "least": dp.show(self.budgets.least_nano) if self.budgets.least_nano else None,
            "most": dp.show(self.budgets.most_nano) if self.budgets.most_nano else None,
            "scopes": [_scope(one) for one in self.scopes],
            "shared_lifetimes": [
                {"name": one.name, "datasets": list(one.datasets), **_amounts(one.status)} for one in self.shared
            ],
        }


def in_one_line(name: str, status: Status) -> str:
    spent, cap, left = (dp.show(nano) for nano in (status.spent, status.lifetime, status.remaining))
    line = f"dataset {name}: epsilon {spent} of {cap} spent by all askers together, {left} left, for ever"
    if not status.lifetime_nano_rho:
        return line
    nanos = (status.spent_nano_rho, status.lifetime_nano_rho, status.largest_question)
    rho, most, question = (dp.show(nano) for nano in nanos)
    return f"{line}; or, by lifetime_delta, rho {rho} of {most}: one more question may cost epsilon {question}"


def _row(
    what: str, span: str, spent: int, cap: int, for_life: int | None = None, refills_at: int | None = None
) -> Sequence[Text | Bar]:
    return (
        Text(what),
        Text(span),
        Bar(spent, cap),
        Text(dp.show(spent)),
        Text(dp.show(cap)),
        Text("" if refills_at is None else to_the_minute(_moment(refills_at))),
        Text(dp.show(spent if for_life is None else for_life)),
    )


def _amounts(status: Status) -> dict[str, str]:
    amounts = {"lifetime": status.lifetime, "spent": status.spent, "remaining": status.remaining}
    if status.lifetime_nano_rho:
        amounts |= {
            "lifetime_rho": status.lifetime_nano_rho,
            "spent_rho": status.spent_nano_rho,
            "largest_question": status.largest_question,
        }
    return {name: dp.show(nano) for name, nano in amounts.items()}


def _scope(one: ScopeStatus) -> dict[str, Any]:
    amounts = {
        "cap": one.scope.cap_nano,
        "spent": one.spent_nano,
        "remaining": one.remaining_nano,
        "spent_for_ever": one.ever_nano,
    }
    return {
        "kind": one.scope.kind,
        "subject": one.scope.subject,
        "span": one.scope.span,
        **{name: dp.show(nano) for name, nano in amounts.items()},
        "refills_at": None if one.refills_at is None else _moment(one.refills_at).isoformat(),
    }


def _name_of(shared: SharedStatus) -> str:
    name = "copies" if is_of_copies(shared.name) else f"lifetime {shared.name}"
    return f"{name}: {', '.join(shared.datasets)}"


def _subject_of(one: ScopeStatus) -> str:
    if one.scope.kind == "dataset":
        return "all askers together"
    return f"{one.scope.kind} {one.scope.subject}" if one.scope.subject else "each analyst"


def _order(one: ScopeStatus) -> tuple[int, str, int]:
    """The dataset's before those of some, and of each the shortest span first."""
    return KINDS.index(one.scope.kind), one.scope.subject, list(SPANS).index(one.scope.span)


def _is_pattern(one: ScopeStatus) -> bool:
    """Whether it is what each analyst has; of those who asked, each has a scope besides."""
    return one.scope.kind == "analyst" and not one.scope.subject


def _moment(microseconds: int) -> datetime:
    return datetime.fromtimestamp(microseconds / 1_000_000, UTC)
