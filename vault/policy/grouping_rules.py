"""Grouping rules: what a dataset's groups, unknown groups and histogram edges must not contradict."""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Final

from vault.policy.dataset import DatasetPolicy, GroupLabel
from vault.policy.table import TablePolicy

_LABEL_TYPES: Final[dict[str, type]] = {"int": int, "str": str}
_INT64: Final = range(-(2**63), 2**63)


def grouping_faults(dataset: DatasetPolicy, table: TablePolicy) -> Iterator[str]:
    """All that is wrong, each "groups.column: what is wrong"."""
    for name, labels in dataset.groups.items():
        yield from (f"groups.{name}: {fault}" for fault in _label_faults(name, labels, table))
    for name in dataset.unknown:
        yield from (f"unknown.{name}: {fault}" for fault in _unknown_faults(name, dataset, table))


def edge_faults(dataset: DatasetPolicy, table: TablePolicy) -> Iterator[str]:
    """What is wrong with the edges of histograms, each "edges.name: what is wrong"; the bounds are right."""
    for name, edges in dataset.edges.items():
        yield from (f"edges.{name}: {fault}" for fault in _edge_faults(name, edges, dataset, table))


def _label_faults(name: str, labels: tuple[GroupLabel, ...], table: TablePolicy) -> Iterator[str]:
    column = table.column.get(name)
    if column is None:
        yield _no_column(name, table)
    elif column.type not in _LABEL_TYPES:
        yield f"a {column.type} column cannot be grouped by; group by an int or str column"
    elif not all(type(label) is _LABEL_TYPES[column.type] for label in labels):
        yield f"the column is {column.type}; write labels of that type"
    elif any(isinstance(label, int) and label not in _INT64 for label in labels):
        yield "a label is outside 64 bits, where no row can be"


def _unknown_faults(name: str, dataset: DatasetPolicy, table: TablePolicy) -> Iterator[str]:
    column = table.column.get(name)
    if column is None:
        yield _no_column(name, table)
    elif column.type not in _LABEL_TYPES:
        yield f"a {column.type} column cannot be grouped by; group by an int or str column"
    elif name in dataset.groups:
        yield f"its groups are declared in groups.{name}; remove one of the two"
    elif name == dataset.unit:
        yield "a group of one person is that person; group by another column"
    elif 2 * dataset.unknown[name].atto_delta > dataset.lifetime_atto_delta:
        yield "half of lifetime_delta is for questions' deltas; declare one at least twice as large as this delta"


def _edge_faults(name: str, edges: tuple[Decimal, ...], dataset: DatasetPolicy, table: TablePolicy) -> Iterator[str]:
    bounds = dataset.expressions.get(name) or dataset.bounds.get(name)
    if name not in table.column and name not in dataset.expressions:
        names = ", ".join((*table.column, *dataset.expressions))
        yield f"there is no column or expression {name}; name one of: {names}"
    elif bounds is None:
        yield f"a histogram needs bounds, beyond which no value lies; declare bounds.{name}"
    elif any((Fraction(edge) / Fraction(bounds.step or 1)).denominator != 1 for edge in edges):
        yield "each edge is a multiple of the step of the bounds; move it, or declare a finer step"
    elif (edges[0], edges[-1]) != (bounds.lower, bounds.upper):
        yield f"the first and the last edge are the bounds, {bounds.lower:f} and {bounds.upper:f}"


def _no_column(name: str, table: TablePolicy) -> str:
    return f"there is no column {name}; name one of: {', '.join(table.column)}"
