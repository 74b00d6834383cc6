"""Database register: the databases of a keyring, written down beside its keys before the first write of a service.

A database that was forgotten and is seen again lives: it is registered as if it were new.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, Row, insert, select, update
from sqlalchemy.exc import IntegrityError

from kms.errors import KeyringError, SchemaVersionError
from kms.key_database import reading, writing
from kms.key_rows import moment_of, time_text
from kms.key_store import KeyStore
from kms.schema_version import check_schema_version, create_component
from kms.two_clocks import read_clocks
from vault.databases.database_identity import DatabaseIdentity
from vault.databases.database_tables import database_table, metadata

__all__ = ["DatabaseRegister", "RegisteredDatabase"]

COMPONENT: Final = "databases"
SCHEMA_VERSION: Final = 1
# Ours: last_seen is not written more often.
FRESH: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class RegisteredDatabase:
    """place: its address, which two may have. forgotten_at: an operator said that it is no more; None if it counts."""

    digest: str
    place: str
    instance: str
    first_seen: datetime
    last_seen: datetime
    forgotten_at: datetime | None

    @property
    def counts(self) -> bool:
        return self.forgotten_at is None

    @property
    def name(self) -> str:
        """12 digits of the digest, by which a command is told which one is meant."""
        return self.digest[:12]


class DatabaseRegister:
    """Of the keyrings of one key store. Any number of processes may use it at once."""

    def __init__(self, key_store: KeyStore) -> None:
        self._store = key_store

    def see(self, keyring_id: bytes, identity: DatabaseIdentity) -> None:
        """Write it down, committed when this returns, unless it was within the hour. Raises: KmsError."""
        self.require_tables()
        with reading(self._store.engine) as connection:
            found, now = self._find(connection, keyring_id, identity.digest), self._now(connection)
        if found is not None and found.counts and found.instance == identity.instance and now - found.last_seen < FRESH:
            return
        try:
            with writing(self._store.engine) as connection:
                self._write(connection, keyring_id, identity)
        except IntegrityError:  # another process was first
            with writing(self._store.engine) as connection:
                self._write(connection, keyring_id, identity)

    def databases(self, keyring_id: bytes) -> list[RegisteredDatabase]:
        """Those of the keyring, the forgotten ones too, by place."""
        self.require_tables()
        with reading(self._store.engine) as connection:
            return self.databases_in(connection, keyring_id)

    def databases_in(self, connection: Connection, keyring_id: bytes) -> list[RegisteredDatabase]:
        """As databases, in a transaction that reads more; the tables are there."""
        table = database_table
        rows = connection.execute(
            select(table).where(table.c.keyring_id == keyring_id).order_by(table.c.place, table.c.identity)
        ).all()
        return [_from_row(row) for row in rows]

    def forget(self, keyring_id: bytes, digest: str) -> None:
        """Count it no more; it stays in the table. If it lives, it is registered again by its next connection."""
        self.require_tables()
        table = database_table
        with writing(self._store.engine) as connection:
            this = (table.c.keyring_id == keyring_id) & (table.c.identity == digest)
            connection.execute(update(table).where(this).values(forgotten_at=time_text(self._now(connection))))

    def require_tables(self) -> None:
        """Make them where they are missing. Raises: KmsError."""
        try:
            with reading(self._store.engine) as connection:
                check_schema_version(connection, COMPONENT, SCHEMA_VERSION)
        except SchemaVersionError:
            # raises it again if the version is another
            create_component(self._store.engine, COMPONENT, SCHEMA_VERSION, metadata.sorted_tables)

    def _write(self, connection: Connection, keyring_id: bytes, identity: DatabaseIdentity) -> None:
        table, now = database_table, time_text(self._now(connection))
        this = (table.c.keyring_id == keyring_id) & (table.c.identity == identity.digest)
        seen = {"place": identity.place, "instance": identity.instance, "last_seen": now, "forgotten_at": None}
        if connection.execute(select(table.c.place).where(this)).first() is not None:
            connection.execute(update(table).where(this).values(seen))
            return
        new = {"keyring_id": keyring_id, "identity": identity.digest, "first_seen": now}
        connection.execute(insert(table).values(new | seen))

    def _find(self, connection: Connection, keyring_id: bytes, digest: str) -> RegisteredDatabase | None:
        table = database_table
        this = (table.c.keyring_id == keyring_id) & (table.c.identity == digest)
        row = connection.execute(select(table).where(this)).first()
        return None if row is None else _from_row(row)

    def _now(self, connection: Connection) -> datetime:
        return read_clocks(connection, self._store.now()).later


def _from_row(row: Row[tuple[object, ...]]) -> RegisteredDatabase:
    try:
        forgotten = None if row.forgotten_at is None else moment_of(row.forgotten_at)
        seen = moment_of(row.first_seen), moment_of(row.last_seen)
        return RegisteredDatabase(str(row.identity), str(row.place), str(row.instance), *seen, forgotten)
    except (OverflowError, TypeError, ValueError):
        raise KeyringError(
            "a row of noisevault_database makes no sense: it was changed by hand, restore it from a backup"
        ) from None
