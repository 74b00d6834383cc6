"""Statement values: what an INSERT or UPDATE gives each column, wherever it stands, as plain values row by row."""

# ruff: noqa: SLF001  # the parts of statements have no public names: sqlalchemy<2.2 is pinned, and tests read each

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Column
from sqlalchemy.sql.dml import ValuesBase
from sqlalchemy.sql.elements import BindParameter, ClauseElement, Null

from vault.errors import SealedColumnError
from vault.mapping.table_plan import TablePlan

__all__ = ["Absent", "as_dicts", "given_key", "plain_value"]


class Absent:
    """Stands for a value that a row does not have; SQLAlchemy names the missing parameter."""


def given_key(key: Any, plan: TablePlan) -> str | None:
    """The column key that a key of values() means; None for another table's column."""
    if isinstance(key, str):
        return key
    if hasattr(key, "__clause_element__"):
        key = key.__clause_element__()
    if isinstance(key, Column) and hash(key.table) == hash(plan.table):
        return key.key
    return None


def plain_value(value: Any, row: Mapping[str, Any], label: str) -> Any:
    """The Python value behind what values() was given. Raises: SealedColumnError for an SQL expression."""
    if hasattr(value, "__clause_element__"):
        value = value.__clause_element__()
    if isinstance(value, BindParameter):
        if value.key in row:
            return row[value.key]
        return Absent if value.required else value.effective_value
    if isinstance(value, Null):
        return None
    if isinstance(value, ClauseElement):
        raise SealedColumnError(
            f"{label} cannot be sealed from an SQL expression: read the value, then write it as a plain one"
        )
    return value


def as_dicts(statement: ValuesBase, plan: TablePlan) -> list[dict[Any, Any]]:
    """The rows of a VALUES clause with several, by column; rows given by position take the visible columns in order."""
    visible = [column for column in plan.table.c if column.key not in plan.filled]
    rows: list[dict[Any, Any]] = []
    for group in statement._multi_values:
        for given in group:
            if isinstance(given, Sequence) and len(given) > len(visible):
                raise SealedColumnError(f"a row for {plan.table.name} has more values than columns: pass dictionaries")
            rows.append(dict(zip(visible, given, strict=False)) if isinstance(given, Sequence) else dict(given))
    return rows
