"""Key uses: the values, terms and index slots that name a key; nothing is opened."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, Engine, LargeBinary, Table, func, inspect, select

from kms.key_database import reading
from vault.definitions.definition_tables import index_slot_table
from vault.mapping.definitions import sealed_columns
from vault.rows.header_counts import Holds, TableCounts, header_counts

__all__ = ["KeyUse", "names_key", "pinned_slots", "terms_under", "uses_in", "values_under"]

KEY_ID_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class KeyUse:
    """What needs a key: so many of what, and where."""

    count: int
    what: str
    where: str

    def __str__(self) -> str:
        return f"{self.count} {self.what} of {self.where}"


def names_key(column: Column[Any], at: int, key_id: bytes) -> ColumnElement[bool]:
    """Whether stored bytes have the key id from byte `at` on, counted from 1."""
    return func.substr(column, at, KEY_ID_BYTES, type_=LargeBinary()) == key_id


def uses_in(counts: TableCounts, key_id: bytes) -> list[KeyUse]:
    """The columns of a table that name the key, as they were counted."""
    named = [(column, column.by_key()[key_id]) for column in counts.columns]
    return [KeyUse(number, column.holds, f"{counts.table}.{column.name}") for column, number in named if number]


def values_under(engine: Engine, tables: Iterable[Table], key_id: bytes) -> list[KeyUse]:
    """The sealed columns that hold values under the data key; each table is read once, in one snapshot."""
    return _counted(engine, tables, "values", key_id)


def terms_under(engine: Engine, tables: Iterable[Table], key_id: bytes) -> list[KeyUse]:
    """The term columns that hold terms under the index key."""
    return _counted(engine, tables, "terms", key_id)


def pinned_slots(key_store: Engine, keyring_id: bytes, key_id: bytes) -> list[KeyUse]:
    """The index slots of all databases of the keyring that make their terms by the index key."""
    if not inspect(key_store).has_table(index_slot_table.name):
        return []
    slot = index_slot_table.c
    statement = select(slot.table_name, slot.column_name, slot.index_name, slot.slot)
    with reading(key_store) as connection:
        rows = connection.execute(statement.where(slot.keyring_id == keyring_id, slot.key_id == key_id)).all()
    return [KeyUse(1, f"slot ({row.index_name}, {row.slot})", _place_of(row)) for row in rows]


def _place_of(slot: Any) -> str:
    if slot.column_name:
        return f"{slot.table_name}.{slot.column_name}"
    return slot.table_name or "the columns that share it"


def _counted(engine: Engine, tables: Iterable[Table], holds: Holds, key_id: bytes) -> list[KeyUse]:
    counted = (header_counts(engine, table, [holds]) for table in tables if sealed_columns(table))
    return [use for counts in counted for use in uses_in(counts, key_id)]
