"""Index store: the definitions and pins of indexes that are not one field's own, recorded beside those of fields."""

from typing import Any, Final

from sqlalchemy import Connection, Engine, Table, and_, insert, select
from sqlalchemy.exc import IntegrityError

from kms.key_database import reading, writing
from kms.key_record import Purpose
from kms.keyring import Keyring
from vault.definition_tables import index_slot_table, index_table
from vault.errors import IndexChangedError
from vault.index_definition import IndexDefinition, index_from_json
from vault.index_slot import SlotKeys, SlotPin

__all__ = ["register_index"]

ATTEMPTS: Final = 5
NEW_INDEX: Final = "declare it as recorded, or give the index another name and write its values anew"


def register_index(engine: Engine, definition: IndexDefinition, keyring: Keyring) -> SlotKeys:
    """Record the definition and its first pin, or compare it with what is recorded; the tables are there.

    Raises: IndexChangedError, KmsError.
    """
    for _ in range(ATTEMPTS):
        with reading(engine) as connection:
            recorded = _recorded(connection, definition, keyring.id)
            slots = _slots(connection, definition, keyring.id)
        if recorded is not None and recorded != definition:
            raise IndexChangedError(definition.label, f"recorded {recorded}, declared {definition}", NEW_INDEX)
        if recorded is not None and slots is not None:
            return slots
        pin = SlotPin(keyring.sealing(Purpose.INDEX).key.key_id, definition.generation)
        try:
            with writing(engine) as connection:
                if recorded is None:
                    connection.execute(insert(index_table).values(_row(definition, keyring.id)))
                connection.execute(insert(index_slot_table).values(_slot_row(definition, keyring.id, pin)))
        except IntegrityError:
            continue  # another process recorded it meanwhile: compare with that
        return SlotKeys(pin)
    raise IndexChangedError(definition.label, "other processes keep recording it", "start one process first")


def _of_index(table: Table, definition: IndexDefinition, keyring_id: bytes) -> Any:
    table_name, name = definition.place
    return and_(table.c.keyring_id == keyring_id, table.c.table_name == table_name, table.c.index_name == name)


def _recorded(connection: Connection, definition: IndexDefinition, keyring_id: bytes) -> IndexDefinition | None:
    """The generation that is declared, or else the first that is there."""
    statement = select(index_table).where(_of_index(index_table, definition, keyring_id))
    rows = {row.generation: row for row in connection.execute(statement)}
    row = rows.get(definition.generation) or (rows[min(rows)] if rows else None)
    if row is None:
        return None
    recorded = index_from_json(row.definition)
    if (recorded.place, recorded.generation, recorded.fingerprint) != (
        definition.place,
        row.generation,
        row.fingerprint,
    ):
        raise IndexChangedError(
            definition.label,
            f"the recorded generation {row.generation} is not what its fingerprint says",
            "restore the key store's tables from a backup",
        )
    return recorded


def _slots(connection: Connection, definition: IndexDefinition, keyring_id: bytes) -> SlotKeys | None:
    slot = index_slot_table.c
    statement = select(index_slot_table).where(
        _of_index(index_slot_table, definition, keyring_id), slot.column_name == ""
    )
    pins = {row.slot: SlotPin(bytes(row.key_id), row.generation) for row in connection.execute(statement)}
    return SlotKeys(pins.get("a"), pins.get("b")) if pins else None


def _row(definition: IndexDefinition, keyring_id: bytes) -> dict[str, object]:
    table_name, name = definition.place
    return {
        "keyring_id": keyring_id,
        "table_name": table_name,
        "index_name": name,
        "generation": definition.generation,
        "definition": definition.canonical_json(),
        "fingerprint": definition.fingerprint,
    }


def _slot_row(definition: IndexDefinition, keyring_id: bytes, pin: SlotPin) -> dict[str, object]:
    table_name, name = definition.place
    return {
        "keyring_id": keyring_id,
        "table_name": table_name,
        "column_name": "",
        "index_name": name,
        "slot": "a",
        "key_id": pin.key_id,
        "generation": pin.generation,
    }
