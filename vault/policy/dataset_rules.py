"""Dataset rules: what a dataset of a policy must not contradict in its table."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Final

from dp.errors import ParameterError
from vault.exact_number import is_whole
from vault.policy.bounds import Bounds
from vault.policy.budget_rules import allowance_faults
from vault.policy.dataset import DatasetPolicy
from vault.policy.expression_rules import declared_faults
from vault.policy.grouping_rules import edge_faults, grouping_faults
from vault.policy.table import ColumnPolicy, TablePolicy

_UNIT_TYPES: Final = ("int", "str", "bytes", "uuid")


def dataset_faults(datasets: Mapping[str, DatasetPolicy], tables: Mapping[str, TablePolicy]) -> list[str]:
    """All contradictions in the datasets, one "dotted.key: what is wrong" each."""
    faults: list[str] = []
    for name, dataset in datasets.items():
        table = tables.get(dataset.table)
        if table is None:
            faults.append(f"dataset.{name}.table: there is no table {dataset.table}; name one of: {', '.join(tables)}")
        else:
            faults += [f"dataset.{name}.{fault}" for fault in _faults(dataset, table)]
    return faults


def _faults(dataset: DatasetPolicy, table: TablePolicy) -> Iterator[str]:
    unit = table.column.get(dataset.unit)
    if unit is None:
        yield f"unit: {_no_column(dataset.unit, table)}"
    elif unit.sealed or unit.type not in _UNIT_TYPES:
        yield f"unit: {dataset.unit} cannot tell persons apart here; name a plain int, str, bytes or uuid column"
    ranges = [
        f"bounds.{name}{fault}"
        for name, bounds in dataset.bounds.items()
        for fault in _bounds_faults(name, bounds, table)
    ]
    ranges += declared_faults(dataset, table)
    yield from ranges
    yield from grouping_faults(dataset, table)
    yield from allowance_faults(dataset, table)
    if not ranges:
        yield from edge_faults(dataset, table)


def _bounds_faults(name: str, bounds: Bounds, table: TablePolicy) -> Iterator[str]:
    column = table.column.get(name)
    if column is None:
        yield f": {_no_column(name, table)}"
    elif column.type not in ("int", "float"):
        yield f": a {column.type} column has no bounds; only int and float columns are summed"
    elif bounds.lower >= bounds.upper:
        yield f": lower is {bounds.lower:f} and upper is {bounds.upper:f}; lower must be below upper"
    elif bounds.step is not None and bounds.step <= 0:
        yield ".step: must be above 0"
    elif bounds.step is None and column.type == "float":
        yield '.step: is missing; a float column needs the grid that it is rounded to, such as "0.01"'
    else:
        yield from _grid_faults(bounds, column)


def _grid_faults(bounds: Bounds, column: ColumnPolicy) -> Iterator[str]:
    parts = (bounds.lower, bounds.upper, Decimal(1) if bounds.step is None else bounds.step)
    if column.type == "int" and not all(map(is_whole, parts)):
        yield ": an int column has whole numbers as lower, upper and step"
        return
    try:
        bounds.grid("int" if column.type == "int" else "float")
    except ParameterError as error:
        yield f"{'.' if error.parameter in Bounds.model_fields else ': '}{error}"


def _no_column(name: str, table: TablePolicy) -> str:
    return f"there is no column {name}; name one of: {', '.join(table.column)}"
