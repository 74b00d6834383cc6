"""Compared: the source columns of a work, in a form of which equal values are the same bytes, beside the declared one.

A declared type may not give back what it was read from: a date that SQLite holds in another form, a document, an
interval, a FLOAT of MariaDB. Compared by that, such a row would be "changed meanwhile" for ever. So jobs compare what
the driver gives (StoredKey), the database's own text of it (StoredText), or the float as a double (StoredDouble); the
work sees the declared value alone.
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, MetaData, RowMapping, Table
from sqlalchemy.types import Float, LargeBinary, TypeDecorator, TypeEngine

from vault.jobs.change import Change
from vault.jobs.walking.key_pages import keys_of
from vault.jobs.walking.read_rows import column_of
from vault.jobs.walking.stored_key import StoredKey
from vault.jobs.writing.comparable import stored_column
from vault.jobs.writing.stored_double import StoredDouble
from vault.jobs.writing.stored_text import StoredText

__all__ = ["compared_columns", "compared_table", "with_what_was_read"]

MARIADB: Final = frozenset({"mysql", "mariadb"})


def compared_table(table: Table, names: Sequence[str], dialect: str) -> Table:
    """The table of a work, the named columns of which are of the types that they are compared by."""
    columns: list[Column[Any]] = [
        Column(
            column.name,
            _compared_type(column.type, dialect) if column.name in names else column.type,
            primary_key=column.primary_key,
            autoincrement=False,
        )
        for column in table.columns
    ]
    return Table(table.name, MetaData(), *columns, schema=table.schema)


def compared_columns(table: Table, names: Sequence[str], dialect: str) -> list[ColumnElement[Any]]:
    """For a page: those of the named columns that are compared otherwise than they are read, each under a label."""
    return [
        stored_column(table.c[name], _compared_type(table.c[name].type, dialect)).label(_label(name))
        for name in names
        if not _is_as_read(table.c[name].type)
    ]


def with_what_was_read(
    changes: Sequence[Change], table: Table, names: Sequence[str], rows: Sequence[RowMapping]
) -> Sequence[Change]:
    """The changes of a page, `old` being what compared_columns() read in place of the declared values."""
    if not changes or all(_is_as_read(table.c[name].type) for name in names):
        return changes
    labels = [name if _is_as_read(table.c[name].type) else _label(name) for name in names]
    old = zip(*(column_of(rows, label) for label in labels), strict=True)
    read = dict(zip(map(_name, keys_of(table, rows)), old, strict=True))
    return [change._replace(old=read[_name(change.key)]) for change in changes]


def _compared_type(kind: TypeEngine[Any], dialect: str) -> TypeEngine[Any]:
    if _is_as_read(kind):
        return kind
    if dialect == "postgresql":
        return StoredText()
    declared = kind.impl_instance if isinstance(kind, TypeDecorator) else kind
    if dialect in MARIADB and isinstance(declared, Float) and not declared.asdecimal:
        return StoredDouble()
    return StoredKey(kind)


def _is_as_read(kind: TypeEngine[Any]) -> bool:
    return isinstance(kind, LargeBinary | StoredKey | StoredText | StoredDouble)


def _label(name: str) -> str:
    return f"{name} as stored"


def _name(key: Any) -> Any:
    """A key of arrays stands for itself by how it is written."""
    return repr(key) if any(isinstance(part, list | dict) for part in key) else key
