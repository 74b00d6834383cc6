"""Recorded definitions: what the key store has of fields and indexes, by generation, checked by its fingerprint."""

from typing import Any, Final

from sqlalchemy import Connection, Table, and_, select

from vault.definitions.definition import FieldDefinition
from vault.definitions.definition_tables import field_table, index_slot_table, index_table
from vault.definitions.index_definition import IndexDefinition, index_from_json
from vault.definitions.index_slot import SlotKeys, SlotPin
from vault.errors import DefinitionChangedError, IndexChangedError

__all__ = [
    "field_row",
    "field_slots",
    "index_row",
    "index_slots",
    "recorded_fields",
    "recorded_indexes",
    "slot_row",
]

NOT_WHAT_IT_SAYS: Final = "the recorded generation {} is not what its fingerprint says"
RESTORE: Final = "restore the key store's tables from a backup"


def recorded_fields(connection: Connection, keyring_id: bytes, table: str, column: str) -> dict[int, FieldDefinition]:
    """A field's definitions by generation. Raises: DefinitionChangedError for one that was changed by hand."""
    generations = {}
    statement = select(field_table).where(_of_field(field_table, keyring_id, table, column))
    for row in connection.execute(statement).all():
        recorded = FieldDefinition.from_json(row.definition)
        place = (recorded.table, recorded.column, recorded.generation, recorded.fingerprint)
        if place != (table, column, row.generation, row.fingerprint):
            raise DefinitionChangedError(table, column, NOT_WHAT_IT_SAYS.format(row.generation), RESTORE)
        generations[row.generation] = recorded
    return generations


def recorded_indexes(connection: Connection, keyring_id: bytes, place: tuple[str, str]) -> dict[int, IndexDefinition]:
    """Of an index that is not one field's own. place: as IndexDefinition.place. Raises: IndexChangedError."""
    generations = {}
    for row in connection.execute(select(index_table).where(_of_index(index_table, keyring_id, place))).all():
        recorded = index_from_json(row.definition)
        if (recorded.place, recorded.generation, recorded.fingerprint) != (place, row.generation, row.fingerprint):
            raise IndexChangedError(recorded.label, NOT_WHAT_IT_SAYS.format(row.generation), RESTORE)
        generations[row.generation] = recorded
    return generations


def field_slots(connection: Connection, keyring_id: bytes, table: str, column: str) -> dict[str, SlotKeys]:
    """The pins of a field's own indexes by name."""
    pins: dict[str, dict[str, SlotPin]] = {}
    statement = select(index_slot_table).where(_of_field(index_slot_table, keyring_id, table, column))
    for row in connection.execute(statement):
        pins.setdefault(row.index_name, {})[row.slot] = SlotPin(bytes(row.key_id), row.generation)
    return {name: SlotKeys(slots.get("a"), slots.get("b")) for name, slots in pins.items()}


def index_slots(connection: Connection, keyring_id: bytes, place: tuple[str, str]) -> SlotKeys | None:
    """The pins of an index that is not one field's own."""
    this = _of_index(index_slot_table, keyring_id, place)
    statement = select(index_slot_table).where(this, index_slot_table.c.column_name == "")
    pins = {row.slot: SlotPin(bytes(row.key_id), row.generation) for row in connection.execute(statement)}
    return SlotKeys(pins.get("a"), pins.get("b")) if pins else None


def field_row(definition: FieldDefinition, keyring_id: bytes) -> dict[str, object]:
    """As it is recorded."""
    return {
        "keyring_id": keyring_id,
        "table_name": definition.table,
        "column_name": definition.column,
        "generation": definition.generation,
        "definition": definition.canonical_json(),
        "fingerprint": definition.fingerprint,
    }


def index_row(definition: IndexDefinition, keyring_id: bytes) -> dict[str, object]:
    """As it is recorded."""
    table_name, name = definition.place
    return {
        "keyring_id": keyring_id,
        "table_name": table_name,
        "index_name": name,
        "generation": definition.generation,
        "definition": definition.canonical_json(),
        "fingerprint": definition.fingerprint,
    }


def slot_row(keyring_id: bytes, place: tuple[str, str, str], slot: str, pin: SlotPin) -> dict[str, object]:
    """place: table, column and index, as far as the index has them."""
    names = dict(zip(("table_name", "column_name", "index_name"), place, strict=True))
    return {"keyring_id": keyring_id, **names, "slot": slot, "key_id": pin.key_id, "generation": pin.generation}


def _of_field(of: Table, keyring_id: bytes, table: str, column: str) -> Any:
    return and_(of.c.keyring_id == keyring_id, of.c.table_name == table, of.c.column_name == column)


def _of_index(of: Table, keyring_id: bytes, place: tuple[str, str]) -> Any:
    table_name, name = place
    return and_(of.c.keyring_id == keyring_id, of.c.table_name == table_name, of.c.index_name == name)
