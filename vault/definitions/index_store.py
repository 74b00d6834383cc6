"""Index store: the definitions and pins of indexes that are not one field's own, recorded beside those of fields."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from sqlalchemy import Engine, insert
from sqlalchemy.exc import IntegrityError

from kms.key_database import reading, writing
from kms.key_record import Purpose
from kms.keyring import Keyring
from vault.definitions.definition_tables import index_slot_table, index_table
from vault.definitions.index_definition import IndexDefinition
from vault.definitions.index_slot import SlotKeys, SlotPin
from vault.definitions.recorded_definitions import index_row, index_slots, recorded_indexes, slot_row
from vault.errors import IndexChangedError

__all__ = ["register_index", "same_index"]

ATTEMPTS: Final = 5
GO_BACK: Final = "declare it as recorded"
NEW_INDEX: Final = "run this first, which makes its terms anew: noisevault reindex --all"


def register_index(engine: Engine, definition: IndexDefinition, keyring: Keyring) -> SlotKeys:
    """Record the definition and its first pin, or compare it with what is recorded; the tables are there.

    Raises: IndexChangedError for one that was not recorded, KmsError.
    """
    for _ in range(ATTEMPTS):
        with reading(engine) as connection:
            generations = recorded_indexes(connection, keyring.id, definition.place)
            slots = index_slots(connection, keyring.id, definition.place)
        if generations:
            return _known(generations, definition, slots)
        pin = SlotPin(keyring.sealing(Purpose.INDEX).key.key_id, definition.generation)
        table_name, name = definition.place
        try:
            with writing(engine) as connection:
                connection.execute(insert(index_table).values(index_row(definition, keyring.id)))
                connection.execute(
                    insert(index_slot_table).values(slot_row(keyring.id, (table_name, "", name), "a", pin))
                )
        except IntegrityError:
            continue  # another process recorded it meanwhile: compare with that
        return SlotKeys(pin)
    raise IndexChangedError(definition.label, "other processes keep recording it", "start one process first")


def same_index(recorded: IndexDefinition, declared: IndexDefinition) -> bool:
    """Whether both make the same terms but for the generation, which nobody declares and reindex counts."""
    return declared.generation in {0, recorded.generation} and recorded == replace(
        declared, generation=recorded.generation
    )


def _known(generations: Mapping[int, IndexDefinition], declared: IndexDefinition, slots: SlotKeys | None) -> SlotKeys:
    """A definition that was ever recorded is good to go on with: which one makes the terms, the pins say."""
    if slots is not None and any(same_index(recorded, declared) for recorded in generations.values()):
        return slots
    was = generations[max(generations)]
    raise IndexChangedError(declared.label, f"recorded {was}, declared {declared}", f"{GO_BACK}, or {NEW_INDEX}")
