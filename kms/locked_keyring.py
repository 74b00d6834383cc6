"""Locked keyring: one keyring's keys inside a transaction in which nobody else changes them."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, select, update

from kms.errors import KeyringError
from kms.key_database import writing
from kms.key_record import KeyRecord, KeyringState, KeyState
from kms.key_rows import from_row, time_text
from kms.key_tables import key_table, keyring_table
from kms.two_clocks import TwoClocks, read_clocks

__all__ = ["LockedKeyring", "lock_keyring", "locked", "records_of", "records_of_all"]


class LockedKeyring:
    """Its keys as they are under the lock, and what the clocks say then. Made by locked()."""

    def __init__(self, connection: Connection, keyring_id: bytes, now: datetime) -> None:
        lock_keyring(connection, keyring_id)
        self.connection = connection
        self.clocks: TwoClocks = read_clocks(connection, now)
        self.state = KeyringState(keyring_id, "", records_of(connection, keyring_id))

    def record(self, key_id: bytes) -> KeyRecord:
        """Raises: KeyringError if the keyring has no such key."""
        found = self.state.find(key_id)
        if found is None:
            raise KeyringError(f"the keyring has no key {key_id.hex()}")
        return found

    def set_state(self, record: KeyRecord, state: KeyState, *, destroy_after: datetime | None = None) -> None:
        """Dated by the later clock. Raises: KeyringError if the key's state does not lead there."""
        if not record.state.may_become(state):
            raise KeyringError(f"key {record.key_id.hex()} is {record.state} and cannot become {state}")
        values: dict[str, Any] = {
            "state": state.value,
            "changed_at": time_text(self.clocks.later),
            "destroy_after": None if destroy_after is None else time_text(destroy_after),
        }
        if state is KeyState.DESTROYED:
            values["wrapped"] = None
        self.connection.execute(update(key_table).where(key_table.c.key_id == record.key_id).values(values))


@contextmanager
def locked(engine: Engine, keyring_id: bytes, now: datetime) -> Iterator[LockedKeyring]:
    """A transaction that is alone in changing the keyring, committed at the end. Raises: UnavailableError."""
    with writing(engine) as connection:
        yield LockedKeyring(connection, keyring_id, now)


def lock_keyring(connection: Connection, keyring_id: bytes) -> None:
    """Changes to one keyring queue here (on SQLite they do already, see key_database)."""
    connection.execute(select(keyring_table.c.id).where(keyring_table.c.id == keyring_id).with_for_update())


def records_of(connection: Connection, keyring_id: bytes) -> tuple[KeyRecord, ...]:
    """The keys of a keyring, by purpose and sequence. Raises: KeyringError for a row that makes no sense."""
    statement = (
        select(key_table)
        .where(key_table.c.keyring_id == keyring_id)
        .order_by(key_table.c.purpose, key_table.c.sequence)
    )
    # All at first: an unfinished statement would keep SQLite's file open past the close.
    return tuple(from_row(row) for row in connection.execute(statement).all())


def records_of_all(connection: Connection) -> dict[bytes, tuple[KeyRecord, ...]]:
    """The keys of every keyring by its id, by purpose and sequence. Raises: as records_of."""
    found: dict[bytes, tuple[KeyRecord, ...]] = {}
    for row in connection.execute(select(key_table).order_by(key_table.c.purpose, key_table.c.sequence)).all():
        record = from_row(row)
        found[record.keyring_id] = (*found.get(record.keyring_id, ()), record)
    return found
