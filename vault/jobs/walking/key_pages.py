"""Key pages: a table walked in primary-key order, a page at a time, without OFFSET.

Each page begins after the last key of the one before, so that rows which appear or vanish meanwhile neither
shift the others nor make one be seen twice. The database itself orders and compares, by the same collation.
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import (
    Column,
    ColumnElement,
    Enum,
    Select,
    Table,
    and_,
    bindparam,
    literal_column,
    or_,
    select,
    tuple_,
    type_coerce,
)

from vault.jobs.change import Key
from vault.jobs.walking.key_range import KeyRange
from vault.jobs.walking.read_rows import column_of
from vault.jobs.walking.stored_key import StoredKey, as_declared

__all__ = ["key_of", "keys_of", "page_statement", "within", "within_raw"]

# These find the place of a row value in an index over several columns; MariaDB does so for the written-out form.
ROW_VALUES: Final = frozenset({"postgresql", "sqlite"})
MARIADB: Final = frozenset({"mysql", "mariadb"})


def page_statement(
    table: Table,
    reads: Sequence[str],
    key_range: KeyRange,
    rows: int,
    dialect: str,
    others: Sequence[ColumnElement[Any]] = (),
) -> Select[Any]:
    """The first page of a range: the primary key, `reads` and others, at most `rows` rows, in key order."""
    keys = list(table.primary_key.columns)
    told = [_told(key, dialect) for key in keys]
    also = [_declared(table.c[name]) if name in table.primary_key.columns else table.c[name] for name in reads]
    return select(*told, *also, *others).where(*within(table, key_range, dialect)).order_by(*keys).limit(rows)


def key_of(table: Table, row: Any) -> Key:
    """The primary key of a row that was read, as the driver gave it."""
    return tuple(row[column.name] for column in table.primary_key.columns)


def keys_of(table: Table, rows: Sequence[Any]) -> list[Key]:
    """The primary keys of many rows that were read."""
    return list(zip(*(column_of(rows, key.name) for key in table.primary_key.columns), strict=True))


def within(table: Table, key_range: KeyRange, dialect: str) -> list[ColumnElement[bool]]:
    """The conditions of a range, in the form that the database answers from its index. table: of job_table()."""
    return _within(list(table.primary_key.columns), key_range, dialect)


def within_raw(raw: Table, key_range: KeyRange, dialect: str) -> list[ColumnElement[bool]]:
    """The same, of a table whose keys are read as they are declared."""
    keys: list[Any] = [type_coerce(column, StoredKey(column.type)) for column in raw.primary_key.columns]
    return _within(keys, key_range, dialect)


def _within(keys: "list[Column[Any]]", key_range: KeyRange, dialect: str) -> list[ColumnElement[bool]]:
    conditions = []
    if key_range.after is not None:
        conditions.append(_after(keys, key_range.after, dialect))
    if key_range.up_to is not None:
        conditions.append(_up_to(keys, key_range.up_to, dialect))
    return conditions


def _told(key: "Column[Any]", dialect: str) -> ColumnElement[Any]:
    """MariaDB orders an ENUM by its number, and compares it with a text as text, with a number as it orders it."""
    if dialect in MARIADB and isinstance(key.type, StoredKey) and isinstance(key.type.declared, Enum):
        return type_coerce(key + literal_column("0"), key.type).label(key.name)
    return key


def _declared(column: "Column[Any]") -> ColumnElement[Any]:
    kind = column.type.declared if isinstance(column.type, StoredKey) else column.type
    return type_coerce(column, kind).label(as_declared(column.name))


def _after(keys: "list[Column[Any]]", last: Key, dialect: str) -> ColumnElement[bool]:
    if len(keys) == 1 and last[0] is not None:
        return keys[0].__gt__(last[0])
    if dialect in ROW_VALUES and None not in last:
        return tuple_(*keys).__gt__(_row_value(keys, last))
    return or_(*(and_(*_same(keys, last, depth), _greater(keys[depth], last[depth])) for depth in range(len(keys))))


def _up_to(keys: "list[Column[Any]]", last: Key, dialect: str) -> ColumnElement[bool]:
    if dialect in ROW_VALUES and None not in last:
        return tuple_(*keys).__le__(_row_value(keys, last)) if len(keys) > 1 else keys[0].__le__(last[0])
    less = [and_(*_same(keys, last, depth), keys[depth].__lt__(last[depth])) for depth in range(len(keys))]
    return or_(*less, and_(*_same(keys, last, len(keys))))


def _row_value(keys: "list[Column[Any]]", last: Key) -> ColumnElement[Any]:
    return tuple_(*(bindparam(None, value, type_=key.type) for key, value in zip(keys, last, strict=True)))


def _same(keys: "list[Column[Any]]", last: Key, depth: int) -> list[ColumnElement[bool]]:
    return [key == value for key, value in zip(keys[:depth], last[:depth], strict=True)]


def _greater(key: "Column[Any]", value: Any) -> ColumnElement[bool]:
    """SQLite alone has NULL in a primary key, before all else."""
    return key.is_not(None) if value is None else key.__gt__(value)
