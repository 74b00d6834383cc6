"""Shared sums: what the datasets of one lifetime have spent together, entry by entry."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vault.reporting.amount import NOTHING, Amount
from vault.reporting.figures import Lifetime, SharedFigures

__all__ = ["SharedSums"]


@dataclass(slots=True)
class SharedSums:
    """A dataset that joins brings along all it has spent, and leaves that behind when it goes, as in the ledger."""

    lifetime: Lifetime
    datasets: frozenset[str] = frozenset()
    spent: Amount = NOTHING
    until_end: Amount = NOTHING

    def declare(self, entry: Mapping[str, Any], lifetime: Lifetime, spent: Mapping[str, Amount]) -> None:
        """spent: by each dataset, up to this entry."""
        members = frozenset(entry["datasets"])
        joining = (spent.get(dataset, NOTHING) for dataset in members - self.datasets)
        self.until_end = Amount.sum((self.until_end, *joining))
        self.lifetime, self.datasets = lifetime, members

    def charge(self, dataset: str, amount: Amount, *, in_quarter: bool) -> None:
        if dataset in self.datasets:
            self.until_end = self.until_end.plus(amount)
            self.spent = self.spent.plus(amount) if in_quarter else self.spent

    def figures(self, name: str) -> SharedFigures:
        return SharedFigures(name, tuple(sorted(self.datasets)), self.lifetime, self.spent, self.until_end)
