"""Declared budgets: what a policy allows of its datasets, as the ledger keeps it."""

from collections.abc import Iterator

from dp.ledger.limits.budgets import Budgets, Scope
from vault.policy.allowance import Windows
from vault.policy.dataset import DatasetPolicy

__all__ = ["budgets_of"]


def budgets_of(dataset: DatasetPolicy, source: str = "") -> Budgets:
    """source: a digest of where its rows are, empty where that is not known."""
    return Budgets(
        lifetime_nano=dataset.lifetime_nano,
        lifetime_atto_delta=dataset.lifetime_atto_delta,
        scopes=tuple(_scopes(dataset)),
        members=tuple((name, member) for name, group in dataset.group.items() for member in group.members),
        least_nano=dataset.least_nano or 0,
        most_nano=dataset.most_nano or 0,
        source=source,
        separate=dataset.separate_budget or "",
    )


def _scopes(dataset: DatasetPolicy) -> Iterator[Scope]:
    yield from _of("dataset", "", dataset.budget)
    yield from _of("analyst", "", dataset.each_analyst)
    for kind in ("column", "analyst", "group"):
        for name, allowance in getattr(dataset, kind).items():
            yield from _of(kind, name, allowance)


def _of(kind: str, subject: str, windows: Windows | None) -> Iterator[Scope]:
    for span, cap in windows.caps().items() if windows is not None else ():
        yield Scope(kind, subject, span, cap)
