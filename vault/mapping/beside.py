"""Beside: another column of the very row that an expression is read from.

Aliases, subqueries and unions rename columns and can hold one table twice, so the way from the expression down
to its table is walked, and the wanted column must come the same way up.
"""

# ruff: noqa: SLF001  # the parts of statements have no public names: sqlalchemy<2.2 is pinned, and tests read each

from typing import Any

from sqlalchemy import Column, FromClause, Label, Table
from sqlalchemy.sql.elements import ClauseElement, ColumnClause, ColumnElement, Grouping
from sqlalchemy.sql.selectable import AliasedReturnsRows, CompoundSelect

__all__ = ["beside", "of_row", "plain_column"]


def plain_column(expression: ClauseElement) -> "ColumnClause[Any] | None":
    """The column that an expression is, but for labels and parentheses."""
    here: Any = expression
    while isinstance(here, Label | Grouping):
        here = here.element
    return here if isinstance(here, ColumnClause) and here.table is not None else None


def beside(expression: ClauseElement, wanted: "Column[Any]") -> "ColumnElement[Any] | None":
    """The expression's neighbour that holds wanted, or None where no neighbour does."""
    here = plain_column(expression)
    if here is None or here.table is None:
        return None
    if _is_row_of(here.table, wanted):
        return here.table.c.get(wanted.key)
    return next((candidate for candidate in here.table.c if _same_way(here, candidate, wanted)), None)


def of_row(column: "ColumnClause[Any]", wanted: "Column[Any]") -> "ColumnElement[Any] | None":
    """The neighbour of a column of the table of wanted, or of an alias of it; None elsewhere, as of a subquery."""
    source = column.table
    return source.c.get(wanted.key) if source is not None and _is_row_of(source, wanted) else None


def _is_row_of(source: FromClause, wanted: "Column[Any]") -> bool:
    """Whether source is the table of wanted, or an alias of it."""
    base = source.element if isinstance(source, AliasedReturnsRows) else source
    return isinstance(base, Table) and hash(base) == hash(wanted.table)


def _same_way(one: "ColumnClause[Any] | None", other: Any, wanted: "Column[Any]") -> bool:
    """Whether both come from one row source, where other is wanted; for a union, in each of its parts."""
    if one is None or other is None or one.table is None or other.table is None:
        return False
    if hash(one.table) != hash(other.table):  # annotated copies hash as what they copy
        return False
    if _is_row_of(one.table, wanted):
        return bool(other.key == wanted.key)
    ones, others = _origins(one), _origins(other)
    return (
        bool(ones)
        and len(ones) == len(others)
        and all(_same_way(o, c, wanted) for o, c in zip(ones, others, strict=True))
    )


def _origins(column: "ColumnClause[Any]") -> "list[ColumnClause[Any] | None]":
    """The columns one step below: one, or one for each part of a union; None for what is no column."""
    below = getattr(column.table, "element", None)
    parts = len(below.selects) if isinstance(below, CompoundSelect) else 1
    return [plain_column(proxy) for proxy in column._proxies[:parts]]
