"""Key uses: the values, terms and index slots that name a key, counted by the database; nothing is opened or fetched.

sealed value   | format, 1 | generation, 1 | key id, 4 | ...        term   | generation, 1 | key id, 4 | ...
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, Engine, LargeBinary, Table, case, func, inspect, select

from kms.key_database import reading
from vault.definition_tables import index_slot_table
from vault.mapping.definitions import all_term_columns, sealed_columns
from vault.raw_table import raw_table

__all__ = ["KeyUse", "names_key", "pinned_slots", "terms_under", "values_under"]

# Where a key id begins, counted from 1 as SQL does.
IN_SEALED_VALUE: Final = 3
IN_TERM: Final = 2
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


def values_under(engine: Engine, tables: Iterable[Table], key_id: bytes) -> list[KeyUse]:
    """The sealed columns that hold values under the data key; each table is read once, in one snapshot."""
    places = {table: [column.name for column in sealed_columns(table)] for table in tables}
    return list(_counted(engine, places, "values", IN_SEALED_VALUE, key_id))


def terms_under(engine: Engine, tables: Iterable[Table], key_id: bytes) -> list[KeyUse]:
    """The term columns that hold terms under the index key."""
    places = {table: [term.name for term in all_term_columns(table)] for table in tables}
    return list(_counted(engine, places, "terms", IN_TERM, key_id))


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


def _counted(engine: Engine, places: Mapping[Table, list[str]], what: str, at: int, key_id: bytes) -> Iterator[KeyUse]:
    for table, names in places.items():
        if not names:
            continue
        raw = raw_table(table)
        counts = [func.count(case((names_key(raw.c[name], at, key_id), 1))) for name in names]
        with engine.connect() as connection:
            found = connection.execute(select(*counts).select_from(raw)).one()
        yield from (KeyUse(n, what, f"{table.fullname}.{name}") for name, n in zip(names, found, strict=True) if n)
