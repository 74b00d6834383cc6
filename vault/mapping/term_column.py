"""Term column: the hidden column of slot a, which in a statement stands for the slot that is asked when it runs."""

# ruff: noqa: SLF001  # annotations have no public names: sqlalchemy<2.2 is pinned, and tests read them

from typing import Any

from sqlalchemy import Column, FromClause, Table
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.sql.selectable import AliasedReturnsRows

__all__ = ["TermColumn", "as_stored", "as_target", "as_term_column", "is_as_stored", "is_as_target", "term_table"]

AS_STORED = "noisevault_as_stored"
AS_TARGET = "noisevault_as_target"


class TermColumn(Column[Any]):
    """Of slot a. In DDL, and where INSERT and UPDATE name what they set, it is the column of its own name."""

    inherit_cache = True


def as_stored(column: "ColumnElement[Any]") -> "ColumnElement[Any]":
    """The column of its own name, whichever slot is asked, and whichever of a migrating field's two columns is read."""
    return column._annotate({AS_STORED: True})


def is_as_stored(column: "ColumnElement[Any]") -> bool:
    """Whether as_stored() gave it."""
    return AS_STORED in column._annotations


def as_target(column: "ColumnElement[Any]") -> "ColumnElement[Any]":
    """Of a migrating field a term column that a conflict is on, which no statement names otherwise in every mode."""
    return column._annotate({AS_TARGET: True})


def is_as_target(column: "ColumnElement[Any]") -> bool:
    """Whether as_target() gave it."""
    return AS_TARGET in column._annotations


def as_term_column(column: "Column[Any]") -> TermColumn:
    """A column that was read from the database, in its table again as one that stands for the slot that is asked."""
    made = TermColumn(column.name, column.type, nullable=column.nullable, _omit_from_statements=True)
    column.table.append_column(made, replace_existing=True)
    return made


def term_table(source: FromClause | None) -> Table | None:
    """The table that source is, or is an alias of. A subquery has names of its own for what its SELECT chose."""
    base: Any = source
    while isinstance(base, AliasedReturnsRows):
        base = base.element
    return base if isinstance(base, Table) else None
