"""Phases set by hand: a changeover put where a test wants it, without the waits of the commands that get it there."""

from datetime import UTC, datetime

from sqlalchemy import delete, insert, select

from kms.key_database import writing
from kms.key_record import Purpose
from kms.key_rows import time_text
from kms.key_store import KeyStore
from kms.keyring import Keyring
from vault.changeover.phase import Phase, Subject
from vault.changeover.tables import changeover_table, is_of
from vault.definitions.definition_tables import index_slot_table


def set_phase(
    store: KeyStore,
    keyring: Keyring,
    subject: Subject,
    phase: Phase | None,
    *,
    old: str = "a",
    new: str = "b",
    generation: int | None = None,
) -> None:
    """The field or index is in that phase of a changeover from old to new, at once; None: the changeover has ended.

    A new slot that is not pinned is pinned to the active index key and to generation (that of the old one unless
    given). This keyring looks at the store again before its next statement; another keyring object does so after
    keyring.beside.end(), or when its lease is over.
    """
    this = (changeover_table.c.keyring_id == keyring.id, is_of(changeover_table, subject))
    of_subject = (index_slot_table.c.keyring_id == keyring.id, is_of(index_slot_table, subject))
    place = {
        "keyring_id": keyring.id,
        "table_name": subject.table,
        "column_name": subject.column,
        "index_name": subject.index,
    }
    with writing(store.engine) as connection:
        connection.execute(delete(changeover_table).where(*this))
        pins = {row.slot: row for row in connection.execute(select(index_slot_table).where(*of_subject))}
        if phase is None:
            for slot in pins.keys() - {new}:
                connection.execute(delete(index_slot_table).where(*of_subject, index_slot_table.c.slot == slot))
        else:
            since = time_text(datetime.now(UTC))
            row = {"old_place": old, "new_place": new, "phase": int(phase), "came_from": int(phase), "since": since}
            connection.execute(insert(changeover_table).values(place | row))
        if new in {"a", "b"} and new not in pins:
            key_id = keyring.sealing(Purpose.INDEX).key.key_id
            pin = {"slot": new, "key_id": key_id, "generation": generation or (pins[old].generation if pins else 0)}
            connection.execute(insert(index_slot_table).values(place | pin))
    keyring.beside.end()
