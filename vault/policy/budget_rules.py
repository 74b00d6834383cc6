"""Budget rules: what the budgets of a policy must not contradict: one that never decides, one of nothing that is."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

from dp.nano import show
from vault.policy.allowance import SPANS, Windows
from vault.policy.dataset import DatasetPolicy
from vault.policy.shared_lifetime import SharedLifetime
from vault.policy.table import TablePolicy

__all__ = ["allowance_faults", "lifetime_faults"]

# What a question can aggregate, filter or group by.
ASKED_TYPES: Final = ("int", "float", "str", "bytes", "uuid")


def allowance_faults(dataset: DatasetPolicy, table: TablePolicy) -> Iterator[str]:
    """All that is wrong with a dataset's budgets, each "key: what is wrong"."""
    least, most = dataset.least_nano or 0, dataset.most_nano
    if most is not None and least > most:
        yield f"least_epsilon: {show(least)} is more than most_epsilon, so that nothing could be asked; lower it"
    if least > dataset.lifetime_nano:
        yield f"least_epsilon: {show(least)} is more than lifetime_epsilon, so that nothing could be asked; lower it"
    for name in dataset.column:
        column = table.column.get(name)
        if column is None:
            yield f"column.{name}: there is no column {name}; name one of: {', '.join(table.column)}"
        elif column.type not in ASKED_TYPES:
            yield f"column.{name}: no question is about a {column.type} column; leave this out"
    for place, windows in _places(dataset):
        yield from (f"{place}{fault}" for fault in _cap_faults(windows, dataset, least))
        if windows is not dataset.budget and dataset.budget is not None:
            yield from (f"{place}{fault}" for fault in _beyond_all(windows.caps(), dataset.budget.caps()))


def _places(dataset: DatasetPolicy) -> Iterator[tuple[str, Windows]]:
    if dataset.budget is not None:
        yield "budget", dataset.budget
    if dataset.each_analyst is not None:
        yield "each_analyst", dataset.each_analyst
    for section in ("column", "analyst", "group"):
        for name, allowance in getattr(dataset, section).items():
            yield f"{section}.{name}", allowance


def _cap_faults(windows: Windows, dataset: DatasetPolicy, least: int) -> Iterator[str]:
    caps = windows.caps()
    if not caps:
        spans = [name for name in type(windows).model_fields if name != "members"]
        yield f': says no amount; write one of {", ".join(spans)}, such as month = "0.5"'
    for (short, inner), (long, outer) in pairwise(caps.items()):
        if inner > outer:
            yield f".{short}: {show(inner)} is more than {long} allows, so that it never decides; lower it"
    for span, cap in caps.items():
        # With a delta, the sum of epsilon may go beyond the lifetime's.
        if cap > dataset.lifetime_nano and not dataset.lifetime_atto_delta:
            yield f".{span}: {show(cap)} is more than lifetime_epsilon, so that it never decides; lower it"
        if 0 < cap < least:
            yield f".{span}: {show(cap)} is less than least_epsilon, so that nothing could be asked; write 0, or more"


def _beyond_all(caps: Mapping[str, int], of_all: Mapping[str, int]) -> Iterator[str]:
    """What some may spend in a time in which all together may not."""
    for span, cap in caps.items():
        longer = SPANS[SPANS.index(span) :]
        outer = next((one for one in longer if one in of_all and cap > of_all[one]), None)
        if outer is not None:
            yield f".{span}: {show(cap)} is more than budget.{outer} allows all, so that it never decides; lower it"


def lifetime_faults(
    lifetimes: Mapping[str, SharedLifetime], datasets: Mapping[str, DatasetPolicy], tables: Mapping[str, TablePolicy]
) -> Iterator[str]:
    """What is wrong with the shared lifetimes, each "lifetime.name.key: what is wrong"."""
    for name, lifetime in lifetimes.items():
        place = f"lifetime.{name}"
        missing = [one for one in lifetime.datasets if one not in datasets]
        if missing:
            yield f"{place}.datasets: there is no dataset {missing[0]}; name some of: {', '.join(datasets) or 'none'}"
            continue
        members = [datasets[one] for one in lifetime.datasets]
        if not all(one.table in tables and one.unit in tables[one.table].column for one in members):
            continue  # which is a fault of its own
        kinds = sorted({tables[one.table].column[one.unit].type for one in members})
        if len(kinds) > 1:
            yield (
                f"{place}.datasets: their units are {' and '.join(kinds)}; only datasets share a lifetime whose units"
                " name the same persons alike"
            )
        together = sum(one.lifetime_nano for one in members)
        if lifetime.nano > together and not any(one.lifetime_atto_delta for one in members):
            yield f"{place}.epsilon: its datasets may spend {show(together)} in all, so that it never decides; lower it"
