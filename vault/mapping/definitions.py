"""Definitions: from a mapped column to the field behind it, for jobs and the bridge, which handle stored bytes."""

from typing import Any

from sqlalchemy import Column, Table
from sqlalchemy.orm import InstrumentedAttribute

from vault.definitions.definition import FieldDefinition
from vault.errors import SealedColumnError
from vault.mapping.sealed_column import Declaration, SealedColumn
from vault.mapping.term_type import Term

__all__ = [
    "all_term_columns",
    "definition_of",
    "is_migrating",
    "plaintext_column",
    "sealed_columns",
    "term_columns",
]


def definition_of(column: "Column[Any] | InstrumentedAttribute[Any]") -> FieldDefinition:
    """The field definition of a sealed column. Raises: SealedColumnError if it is not sealed."""
    return _sealed(column).definition


def sealed_columns(table: Table) -> "list[Column[Any]]":
    """The sealed columns of a table, in order."""
    return [column for column in table.columns if isinstance(column.type, Declaration)]


def is_migrating(column: "Column[Any] | InstrumentedAttribute[Any]") -> bool:
    """Whether a sealed column is declared with migrating=. Raises: SealedColumnError if it is not sealed."""
    return _sealed(column).plaintext is not None


def plaintext_column(column: "Column[Any] | InstrumentedAttribute[Any]") -> "Column[Any]":
    """The hidden column beside a migrating one. Raises: SealedColumnError if it is not migrating."""
    found = _sealed(column).plaintext
    if found is None:
        raise SealedColumnError(
            f"{column} is not migrating: declare Sealed(..., migrating=...) with its plaintext column"
        )
    return found


def term_columns(column: "Column[Any] | InstrumentedAttribute[Any]") -> "list[Column[Any]]":
    """The hidden columns beside a sealed one: slots a and b of each index, in the order of Field.terms()."""
    return _sealed(column).term_columns


def all_term_columns(table: Table) -> "list[Column[Any]]":
    """The hidden columns of a table's indexes, those over several columns included, in order."""
    return [column for column in table.columns if isinstance(column.type, Term)]


def _sealed(column: Any) -> SealedColumn:
    kind = column.type
    if not isinstance(kind, Declaration) or kind.owner is None:
        raise SealedColumnError(f"{column} is not a sealed column of a table")
    return kind.owner
