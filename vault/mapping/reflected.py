"""Reflected columns: those of a table that SQLAlchemy made of what the database says, as by autoload_with=."""

from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Column, Table
from sqlalchemy.types import _Binary

__all__ = ["is_read_terms", "note_reflected"]

_reflected: "WeakKeyDictionary[Table, set[str]]" = WeakKeyDictionary()


def note_reflected(_inspector: Any, table: Table, column: dict[str, Any]) -> None:
    """A column is about to be made so."""
    _reflected.setdefault(table, set()).add(column["name"])


def is_read_terms(column: "Column[Any]") -> bool:
    """Whether it is the bytes that a table was found to have where an index that is declared keeps its terms."""
    return isinstance(column.type, _Binary) and column.name in _reflected.get(column.table, ())
