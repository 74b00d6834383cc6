"""Key store: keyrings and their wrapped keys in SQL, changed in transactions that two processes may race."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from sqlalchemy import ColumnElement, Connection, Engine, insert, inspect, select, update
from sqlalchemy.exc import IntegrityError

from kms.errors import KeyringError
from kms.fork import forget_in_child
from kms.kek_uses import KekUse, note_left, read_kek_uses
from kms.kek_versions import KekVersionUse, note_versions_left, read_kek_versions, require_kek_version_table
from kms.key_database import close_for_good, erase_old_pages, open_key_database, prepare, reading, writing
from kms.key_record import KeyRecord, KeyringState, KeyState
from kms.key_rows import keyring_id_of, time_text, to_row
from kms.key_tables import key_table, keyring_table, metadata
from kms.locked_keyring import lock_keyring, locked, records_of, records_of_all
from kms.provider import Wrapped
from kms.schema_version import check_schema_version, create_component
from kms.two_clocks import read_clocks

__all__ = ["KeyStore"]

COMPONENT: Final = "kms"
SCHEMA_VERSION: Final = 1


def _utc_now() -> datetime:
    return datetime.now(UTC)


class KeyStore:
    """The tables noisevault_keyring and noisevault_key behind one engine. Holds no plaintext key."""

    def __init__(self, engine: Engine, *, now: Callable[[], datetime] = _utc_now) -> None:
        """engine: best from open_key_database(), which also bounds every wait in time. now: aware UTC."""
        prepare(engine)
        self.engine = engine
        self._now = now
        forget_in_child(self)

    @classmethod
    def from_url(cls, url: str) -> "KeyStore":
        """A store on an engine of its own."""
        return cls(open_key_database(url))

    def forget_after_fork(self) -> None:
        """Leave the parent's connections to the parent: kept, since SQLite must not even close them here."""
        self._parents = self.engine.pool
        self.engine.dispose(close=False)

    def close(self) -> None:
        """Close its connections, those in use when they are given back: the thread of a keyring may be reading.

        Whoever uses the store afterwards opens a connection a call.
        """
        close_for_good(self.engine)

    def create_schema(self) -> None:
        """Create what is missing; two processes may do so at once. Raises: SchemaVersionError."""
        create_component(self.engine, COMPONENT, SCHEMA_VERSION, metadata.sorted_tables)

    def has_schema(self) -> bool:
        """Whether its tables are there, of whatever version. Raises: UnavailableError."""
        with reading(self.engine) as connection:
            return inspect(connection).has_table(keyring_table.name)

    def check_schema(self) -> None:
        """Raises: SchemaVersionError if the tables are missing or of another version."""
        with reading(self.engine) as connection:
            check_schema_version(connection, COMPONENT, SCHEMA_VERSION)

    def now(self) -> datetime:
        """The wall clock that rows are dated with."""
        return self._now()

    def create_keyring(self, state: KeyringState) -> bool:
        """Store a new keyring with its first keys, all or nothing; False if one of its ids is taken: draw others.

        Raises: KeyringError if the name is taken.
        """
        row = {"id": state.keyring_id, "name": state.name, "created_at": time_text(self._now())}
        with suppress(IntegrityError):
            with writing(self.engine) as connection:
                connection.execute(insert(keyring_table).values(row))
                connection.execute(insert(key_table), [to_row(record) for record in state.records])
            return True
        if state.name in self.names():
            raise KeyringError(f"there is a keyring called {state.name!r} already: choose another name")
        return False

    def names(self) -> list[str]:
        """The names of all keyrings, sorted."""
        with reading(self.engine) as connection:
            return sorted(connection.execute(select(keyring_table.c.name)).scalars())

    def load(self, name: str) -> KeyringState:
        """The keyring of that name as it is now. Raises: KeyringError if there is none, UnavailableError."""
        return self._load(keyring_table.c.name == name, repr(name))

    def load_again(self, keyring_id: bytes) -> KeyringState:
        """The keyring with that id as it is now, whatever its name. Raises: as load."""
        return self._load(keyring_table.c.id == keyring_id, keyring_id.hex())

    def load_all(self) -> list[KeyringState]:
        """Every keyring as it is now, in one transaction. Raises: KeyringError, UnavailableError."""
        with reading(self.engine) as connection:
            found = connection.execute(select(keyring_table.c.id, keyring_table.c.name)).all()
            records = records_of_all(connection)
            return [KeyringState(keyring_id_of(row), row.name, records.get(keyring_id_of(row), ())) for row in found]

    def _load(self, which: ColumnElement[bool], shown: str) -> KeyringState:
        with reading(self.engine) as connection:
            found = connection.execute(select(keyring_table.c.id, keyring_table.c.name).where(which)).one_or_none()
            if found is None:
                raise KeyringError(f"there is no keyring called {shown}: create it first, or check the name")
            keyring_id = keyring_id_of(found)
            return KeyringState(keyring_id, found.name, records_of(connection, keyring_id))

    def add(self, record: KeyRecord) -> bool:
        """Add a PRE-ACTIVE key; False if its id or sequence is taken or the keyring shredded: load and try again."""
        if record.state is not KeyState.PRE_ACTIVE:
            raise KeyringError(f"a key is added as pre-active, not {record.state}: rotate makes it active")
        with suppress(IntegrityError):
            with locked(self.engine, record.keyring_id, self._now()) as keyring:
                if keyring.state.shredded:
                    return False
                keyring.connection.execute(insert(key_table).values(to_row(record)))
            return True
        return False

    def activate(self, record: KeyRecord, *, instead_of: bytes | None) -> bool:
        """Make record the ACTIVE key of its purpose and deactivate the key that was, in one transaction.

        record: a PRE-ACTIVE key of the store, or a new one. instead_of: id of the key that was ACTIVE when the
        caller looked, None if none was. False if another process changed the keys meanwhile, or if the id is taken:
        look again.
        """
        with suppress(IntegrityError):
            with locked(self.engine, record.keyring_id, self._now()) as keyring:
                active, stored = keyring.state.active(record.purpose), keyring.state.find(record.key_id)
                if keyring.state.shredded or (None if active is None else active.key_id) != instead_of:
                    return False
                if keyring.state.newest_sequence(record.purpose) >= record.sequence:
                    return False
                if stored is not None and stored.state is not KeyState.PRE_ACTIVE:
                    return False
                if active is not None:
                    keyring.set_state(active, KeyState.DEACTIVATED)
                if stored is None:
                    keyring.connection.execute(insert(key_table).values(to_row(record)))
                else:
                    keyring.set_state(stored, KeyState.ACTIVE)
            return True
        return False

    def replace_wrapped(self, changes: Sequence[tuple[KeyRecord, Wrapped]]) -> frozenset[bytes]:
        """Put other wrapped bytes in the place of those of each record, in one transaction; nothing else changes.

        Gives the ids of the keys whose row still had the record's bytes; a row that has others is left alone.
        Raises: UnavailableError, and then all rows are as they were.
        """
        require_kek_version_table(self.engine)
        with writing(self.engine) as connection:
            for keyring_id in sorted({record.keyring_id for record, _ in changes}):
                lock_keyring(connection, keyring_id)
            done = [(record, new) for record, new in changes if _replaced(connection, record, new)]
            moment = read_clocks(connection, self._now()).later
            note_left(connection, done, moment)
            note_versions_left(connection, done, moment)
            return frozenset(record.key_id for record, _ in done)

    def kek_uses(self) -> list[KekUse]:
        """By which KEKs the keys of each keyring are wrapped, or were. Raises: UnavailableError."""
        with reading(self.engine) as connection:
            return read_kek_uses(connection)

    def kek_versions(self) -> list[KekVersionUse]:
        """By which versions of each KEK the keys of all keyrings are wrapped, or were. Raises: UnavailableError."""
        require_kek_version_table(self.engine)
        with reading(self.engine) as connection:
            return read_kek_versions(connection)

    def erase_keyring(self, keyring_id: bytes) -> int:
        """Erase the wrapped bytes of every live key, whatever its state; the tombstones stay. Gives how many.

        Again: nothing but what is left in a log. Raises: UnavailableError if they could not be erased everywhere.
        """
        live = (key_table.c.keyring_id == keyring_id) & key_table.c.wrapped.is_not(None)
        values = {
            "state": KeyState.DESTROYED.value,
            "wrapped": None,
            "destroy_after": None,
        }
        with writing(self.engine) as connection:
            lock_keyring(connection, keyring_id)
            # Looked at under the lock: until then a backup gets the keys.
            values["changed_at"] = time_text(read_clocks(connection, self._now()).later)
            erased = connection.execute(update(key_table).where(live).values(values)).rowcount
        erase_old_pages(self.engine)
        return erased


def _replaced(connection: Connection, record: KeyRecord, new: Wrapped) -> bool:
    """changed_at stays: it dates the key's state, not its wrapping."""
    assert record.wrapped is not None  # noqa: S101  # a tombstone is not wrapped anew
    as_it_was = (key_table.c.key_id == record.key_id) & (key_table.c.wrapped == record.wrapped.ciphertext)
    values = {"wrapped": new.ciphertext, "kek": new.kek, "kek_version": new.kek_version}
    return connection.execute(update(key_table).where(as_it_was).values(values)).rowcount == 1
