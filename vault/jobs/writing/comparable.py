"""Comparable: whether a column can be compared byte for byte with what was read of it, and what to compare.

A row is compared in memory, while it is locked, as the driver gives it; so the driver must read the type without loss,
and the declared type must turn what it made of the value back into what the driver gave. Where it would not, such as
for a date that SQLite holds in another form, the row is not as it was read, and stays.
"""

from collections.abc import Callable, Sequence
from datetime import time
from typing import Any

from sqlalchemy import Column, ColumnElement, Dialect, Table, type_coerce
from sqlalchemy.dialects.postgresql import DOMAIN
from sqlalchemy.types import (
    ARRAY,
    JSON,
    NULLTYPE,
    Boolean,
    Date,
    DateTime,
    Float,
    Integer,
    Interval,
    LargeBinary,
    Numeric,
    String,
    Time,
    TypeEngine,
    UserDefinedType,
    Uuid,
)

from vault.errors import DefinitionError
from vault.jobs.writing.sameness import as_span
from vault.jobs.writing.stored_double import StoredDouble
from vault.jobs.writing.stored_text import StoredText

__all__ = ["bind_to_stored", "refuse", "require_comparable", "stored_column", "stored_columns"]

Bind = Callable[[Any], Any]

KINDS = (LargeBinary, String, Integer, Boolean, Numeric, Float, Date, DateTime, Time, Uuid, UserDefinedType)


def refuse(table: Table, name: str, kind: object, why: str) -> DefinitionError:
    """That the column cannot be compared or written so."""
    return DefinitionError(f"{table.fullname}.{name} of type {kind} {why}; nothing was written")


def require_comparable(table: Table, names: Sequence[str], dialect: Dialect) -> None:
    """Raises: DefinitionError for a declared type of which the stored bytes cannot be told from what was read."""
    for name in names:
        kind = table.c[name].type
        if not _is_comparable(kind, dialect):
            raise refuse(
                table,
                name,
                type(kind).__name__,
                "cannot be compared byte for byte: give the job's table the type StoredKey, or StoredText, for it",
            )


def stored_columns(table: Table, names: Sequence[str]) -> list[Any]:
    """The columns as the driver reads them, for a SELECT."""
    return [stored_column(table.c[name], table.c[name].type) for name in names]


def stored_column(column: "Column[Any]", kind: TypeEngine[Any]) -> ColumnElement[Any]:
    """A column as the driver reads it; kind: StoredText or StoredDouble for another form of it."""
    if isinstance(kind, StoredText | StoredDouble):
        return kind.column_expression(column)
    return type_coerce(column, NULLTYPE)


def bind_to_stored(kind: TypeEngine[Any], dialect: Dialect) -> Bind | None:
    """What turns a value of the declared type into the one that the driver takes and gives; None if nothing does."""
    if isinstance(kind, LargeBinary):
        return None  # past the driver's wrapper, which is slow and is not what it reads
    steps = [kind.dialect_impl(dialect).bind_processor(dialect), _as_read(kind, dialect.name)]
    binds = [step for step in steps if step is not None]
    if not binds:
        return None

    def bind(value: Any) -> Any:
        for step in binds if value is not None else ():  # NULL is NULL, also of a document, which has a null of its own
            value = step(value)
        return value

    return bind


def _as_read(kind: TypeEngine[Any], dialect: str) -> Bind | None:
    """What the driver reads instead of what it is given."""
    if dialect == "sqlite" and isinstance(kind, Numeric):
        return _integral
    if dialect in {"mysql", "mariadb"}:
        if isinstance(kind, Time):
            return lambda value: as_span(value) if isinstance(value, time) else value
        if isinstance(kind, Boolean):
            return int
        if isinstance(kind, Uuid):
            return str
    return None


def _is_comparable(kind: TypeEngine[Any], dialect: Dialect) -> bool:
    if isinstance(kind, Interval) or not isinstance(kind, (*KINDS, JSON, ARRAY, DOMAIN)):
        return False
    if isinstance(kind, UserDefinedType):
        return kind.bind_processor(dialect) is None
    if isinstance(kind, DOMAIN):
        return _is_comparable(kind.data_type, dialect)
    if isinstance(kind, JSON):
        return dialect.name != "postgresql"  # elsewhere it is text, which is compared with what would be written
    if isinstance(kind, ARRAY):
        return _is_comparable(kind.item_type, dialect)
    return True


def _integral(value: Any) -> Any:
    """What a column of NUMERIC affinity makes of a REAL. Source: sqlite.org/datatype3.html, 3."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**63 else value
