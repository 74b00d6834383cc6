"""Index store: the definitions and pins of indexes that are not one field's own, recorded beside those of fields."""

from typing import Final

from sqlalchemy import Engine, insert
from sqlalchemy.exc import IntegrityError

from kms.key_database import reading, writing
from kms.key_record import Purpose
from kms.keyring import Keyring
from vault.definition_tables import index_slot_table, index_table
from vault.errors import IndexChangedError
from vault.index_definition import IndexDefinition
from vault.index_slot import SlotKeys, SlotPin
from vault.recorded_definitions import index_slots, recorded_indexes

__all__ = ["register_index"]

ATTEMPTS: Final = 5
NEW_INDEX: Final = "declare it as recorded, or give the index another name and write its values anew"


def register_index(engine: Engine, definition: IndexDefinition, keyring: Keyring) -> SlotKeys:
    """Record the definition and its first pin, or compare it with what is recorded; the tables are there.

    Raises: IndexChangedError, KmsError.
    """
    for _ in range(ATTEMPTS):
        with reading(engine) as connection:
            generations = recorded_indexes(connection, keyring.id, definition.place)
            slots = index_slots(connection, keyring.id, definition.place)
        recorded = generations.get(definition.generation, generations[min(generations)] if generations else None)
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
