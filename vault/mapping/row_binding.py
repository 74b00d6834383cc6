"""Row binding: the values of the columns that a row-bound value is sealed with, as the statement itself fixes them."""

# ruff: noqa: SLF001  # the parts of statements have no public names: sqlalchemy<2.2 is pinned, and tests read each

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Column, Integer, LargeBinary, String, cast
from sqlalchemy.dialects.mysql import CHAR
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import operators
from sqlalchemy.sql.dml import Update
from sqlalchemy.sql.elements import BinaryExpression, BindParameter, BooleanClauseList, ColumnElement, Grouping

from vault.codecs.integer import exact_int
from vault.errors import SealedColumnError
from vault.mapping.sealed_column import SealedColumn

__all__ = ["exactly_pinned", "pinned_row", "pins_of", "refuse_missing", "refuse_stored_otherwise"]

Given = Callable[[Mapping[str, Any]], Any]


def pins_of(statement: Update) -> dict[int, "BindParameter[Any]"]:
    """By a column's hash: the parameter that WHERE says it equals, of conditions that all must hold."""
    pins: dict[int, BindParameter[Any]] = {}
    for condition in _conjuncts(statement._where_criteria):
        if not isinstance(condition, BinaryExpression) or condition.operator is not operators.eq:
            continue
        for side, other in ((condition.left, condition.right), (condition.right, condition.left)):
            if isinstance(side, Column) and isinstance(other, BindParameter):
                pins[hash(side)] = other
    return pins


def pinned_row(
    columns: "Sequence[Column[Any]]", pins: Mapping[int, "BindParameter[Any]"], row: Mapping[str, Any]
) -> dict[str, Any]:
    """The values of those of columns that are pinned, by name."""
    found = {}
    for column in columns:
        pin = pins.get(hash(column))
        if pin is not None:
            value = row.get(pin.key, pin.effective_value)
            if value is not None:
                found[column.name] = value
    return found


def exactly_pinned(statement: Update, columns: "Sequence[Column[Any]]", dialect: Dialect) -> Update:
    """The statement, with texts that pin a column compared byte by byte.

    MariaDB's collations take unequal texts for equal: the row of 'ann' would get a value that is bound to 'Ann'.
    """
    if dialect.name not in {"mysql", "mariadb"}:
        return statement
    pins = pins_of(statement)
    for column in columns:
        pin = pins.get(hash(column))
        if pin is not None and isinstance(column.type, String):
            statement = statement.where(_utf8_bytes(column) == _utf8_bytes(pin))
    return statement


def _utf8_bytes(text: "ColumnElement[Any]") -> "ColumnElement[bytes]":
    return cast(cast(text, CHAR(charset="utf8mb4")), LargeBinary)


def refuse_missing(sealed: SealedColumn, row: Mapping[str, Any], *, updating: bool) -> None:
    """Raises: SealedColumnError unless row has every bound column."""
    missing = [column.name for column in sealed.row_columns if row.get(column.name) is None]
    if not missing:
        return
    names = ", ".join(missing)
    if updating:
        raise SealedColumnError(
            f"{sealed.label} is bound to its row by {names}: update one row at a time, with {names} given by == in"
            " WHERE, or change the loaded object and flush"
        )
    raise SealedColumnError(f"{sealed.label} is bound to its row: give {names} in the same INSERT")


def refuse_stored_otherwise(sealed: SealedColumn, rows: Sequence[Mapping[str, Any]], dialect: Dialect) -> None:
    """SQLite's driver stores numpy's integers as bytes, in which the row is not the one that a value was bound to.

    Raises: SealedColumnError.
    """
    numbers = [column.name for column in sealed.row_columns if isinstance(column.type, Integer)]
    for name in numbers if dialect.name == "sqlite" else ():
        for row in rows:
            value = row.get(name)
            if not isinstance(value, int) and exact_int(value) is not None:
                raise SealedColumnError(
                    f"{sealed.label} is bound to its row by {name}, and SQLite would store"
                    f" {type(value).__name__} as bytes: give int(...) of it"
                )


def _conjuncts(criteria: Sequence[Any]) -> Iterator[Any]:
    for condition in criteria:
        if isinstance(condition, Grouping):
            yield from _conjuncts([condition.element])
        elif isinstance(condition, BooleanClauseList) and condition.operator is operators.and_:
            yield from _conjuncts(condition.clauses)
        else:
            yield condition
