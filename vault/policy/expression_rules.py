"""Expression rules: what an expression must not contradict in its table, in a policy and in a question alike."""

from collections.abc import Iterator, Mapping
from typing import Final

from dp.errors import ParameterError
from vault.expression import Column, Comparison, Expression
from vault.expression.form import parts_of
from vault.policy.dataset import DatasetPolicy
from vault.policy.table import ColumnPolicy, TablePolicy

NUMBERS: Final = ("int", "float")


def declared_faults(dataset: DatasetPolicy, table: TablePolicy) -> Iterator[str]:
    """What is wrong with a dataset's declared expressions, each "expressions.name.key: what is wrong"."""
    texts: dict[str, str] = {}
    for name, declared in dataset.expressions.items():
        place = f"expressions.{name}"
        for fault in expression_faults(declared.expression, table.column):
            yield f"{place}.is: {fault}"
        if isinstance(declared.expression, Column):
            yield f"{place}.is: this is a column; write bounds.{declared.text} = {{ ... }}"
        if name in table.column:
            yield f"{place}: the table has a column of this name; choose another"
        if texts.setdefault(declared.text, name) != name:
            yield f"{place}.is: this is {texts[declared.text]}; declare it once"
        if declared.lower >= declared.upper:
            yield f"{place}: lower is {declared.lower:f} and upper is {declared.upper:f}; lower must be below upper"
        elif declared.step is None:
            yield f'{place}.step: is missing; write the grid that values are rounded to, such as "0.01"'
        else:
            try:
                declared.grid("float")
            except ParameterError as error:
                yield f"{place}{'.' if error.parameter in ('lower', 'upper', 'step') else ': '}{error}"


def expression_faults(expression: Expression, columns: Mapping[str, ColumnPolicy]) -> Iterator[str]:
    """Why it cannot be computed on rows of these columns."""
    seen: set[str] = set()
    for part in parts_of(expression):
        fault = None
        if isinstance(part, Column):
            fault = _fault_of_number(part.name, columns)
        elif isinstance(part, Comparison):
            fault = _fault_of_text(part, columns) if part.texts else _fault_of_number(part.column, columns)
        if fault is not None and fault not in seen:
            seen.add(fault)
            yield fault


def _fault_of_number(name: str, columns: Mapping[str, ColumnPolicy]) -> str | None:
    column = columns.get(name)
    if column is None:
        return no_column(name, columns)
    if column.type not in NUMBERS:
        return f"{name} is {column.type}; an expression computes with int and float columns"
    return None


def _fault_of_text(part: Comparison, columns: Mapping[str, ColumnPolicy]) -> str | None:
    column = columns.get(part.column)
    if column is None:
        return no_column(part.column, columns)
    if column.type != "str":
        return f"{part.column} is {column.type}; only a str column is compared with a 'text'"
    if part.operator not in ("=", "!=", "in"):
        return f"{part.column} is str, and texts have no order here; use = != or in"
    return None


def no_column(name: str, columns: Mapping[str, ColumnPolicy]) -> str:
    return f"there is no column {name}; there are: {', '.join(columns) or 'none'}"
