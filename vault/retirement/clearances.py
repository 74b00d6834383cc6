"""Clearances: which databases of a keyring are known to hold nothing that needs a key, and since when.

A scan is dated by its begin, and by the earlier of two clocks, so that it is never taken for later than it was. A
clearance counts from a moment on: for retiring a key since it is DEACTIVATED, so that none is left from before it was
restored; for destroying it since its wait is over.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, Row, delete, insert, inspect, select, update
from sqlalchemy.exc import IntegrityError

from kms.errors import KeyringError, SchemaVersionError
from kms.key_database import reading, writing
from kms.key_rows import moment_of, time_text
from kms.key_store import KeyStore
from kms.schema_version import check_schema_version, create_component
from kms.two_clocks import read_clocks
from vault.databases.database_register import DatabaseRegister, RegisteredDatabase
from vault.retirement.clearance_tables import clearance_table, metadata

__all__ = ["Clearances", "Scan"]

COMPONENT: Final = "clearances"
SCHEMA_VERSION: Final = 1
# Ours: what comes into a database after its scan is not seen, unless triggers refuse it; so destroying wants new scans.
FRESH: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Scan:
    """The last of a database for a key. found: what named it. cleared_at: of the last that cleared, None if void.

    wait: for how long what was moved there may come back, as was said when it was cleared to be retired.
    """

    digest: str
    key_id: bytes
    scanned_at: datetime
    found: int
    cleared_at: datetime | None
    wait: timedelta | None = None

    def clears(self, since: datetime, *, unguarded: bool = False) -> bool:
        """unguarded: it is enough that nothing was found, where no trigger is to refuse the key."""
        if unguarded:
            return not self.found and self.scanned_at >= since
        return self.cleared_at is not None and self.cleared_at >= since


class Clearances:
    """Of one keyring, in its key store."""

    def __init__(self, key_store: KeyStore, keyring_id: bytes) -> None:
        self._store, self._id = key_store, keyring_id
        self._register = DatabaseRegister(key_store)

    def now(self) -> datetime:
        """By which a scan that begins now is dated. Raises: UnavailableError."""
        with reading(self._store.engine) as connection:
            return read_clocks(connection, self._store.now()).earlier

    def since_for_destroying(self, destroy_after: datetime) -> datetime:
        """A key is destroyed when each database was scanned since then: after the wait, and within the last day."""
        return max(destroy_after, self.now() - FRESH)

    def note(
        self,
        digest: str,
        key_id: bytes,
        begun: datetime,
        found: int,
        *,
        cleared: bool = False,
        wait: timedelta | None = None,
    ) -> None:
        """What a scan that began then has found. cleared: nothing, and all columns had refused the key before.

        wait: as of Scan; what was said before stays where it is None.
        """
        row: dict[str, Any] = {"scanned_at": time_text(begun), "found": found}
        if cleared or found:
            row["cleared_at"] = time_text(begun) if cleared else None
        if cleared and wait is not None:
            row["wait_seconds"] = math.ceil(wait.total_seconds())
        self._require_tables()
        try:
            self._write(digest, key_id, row)
        except IntegrityError:  # another process was first
            self._write(digest, key_id, row)

    def scans(self) -> Mapping[tuple[str, bytes], Scan]:
        """The last of each database and key; none where none was ever noted. Makes no table."""
        try:
            with reading(self._store.engine) as connection:
                check_schema_version(connection, COMPONENT, SCHEMA_VERSION)
                rows = connection.execute(select(clearance_table).where(clearance_table.c.keyring_id == self._id)).all()
        except SchemaVersionError:
            if inspect(self._store.engine).has_table(clearance_table.name):
                raise
            return {}
        return {(scan.digest, scan.key_id): scan for scan in map(_from_row, rows)}

    def missing(self, key_id: bytes, since: datetime, *, unguarded: bool = False) -> list[RegisteredDatabase]:
        """The registered databases, but for forgotten ones, that are not cleared since then. unguarded: as of a Scan.

        One that is served by the same run of a server as a cleared one is the same by another address.
        """
        scans = self.scans()
        counted = [one for one in self._register.databases(self._id) if one.counts]
        cleared = {
            digest
            for (digest, scanned), scan in scans.items()
            if scanned == key_id and scan.clears(since, unguarded=unguarded)
        } & {one.digest for one in counted}
        instances = {one.instance for one in counted if one.digest in cleared} - {""}
        return [one for one in counted if one.digest not in cleared and one.instance not in instances]

    def longest_wait(
        self, key_id: bytes, since: datetime, but: str = ""
    ) -> tuple[timedelta, RegisteredDatabase] | None:
        """Of the databases that count, but for one, and were cleared since then: the longest wait, and whose it is."""
        counted = {one.digest: one for one in self._register.databases(self._id) if one.counts and one.digest != but}
        waits = [
            (scan.wait, counted[digest])
            for (digest, scanned), scan in self.scans().items()
            if scanned == key_id and digest in counted and scan.wait is not None and scan.clears(since)
        ]
        return max(waits, key=lambda one: one[0], default=None)

    def void(self, digest: str) -> None:
        """Forget what was found in a database."""
        self._require_tables()
        table = clearance_table
        with writing(self._store.engine) as connection:
            connection.execute(delete(table).where(table.c.keyring_id == self._id, table.c.identity == digest))

    def _write(self, digest: str, key_id: bytes, row: dict[str, Any]) -> None:
        table = clearance_table
        place = {"keyring_id": self._id, "key_id": key_id, "identity": digest}
        with writing(self._store.engine) as connection:
            if _is_there(connection, place):
                this = (table.c.keyring_id == self._id) & (table.c.key_id == key_id) & (table.c.identity == digest)
                connection.execute(update(table).where(this).values(row))
            else:
                connection.execute(insert(table).values(place | row))

    def _require_tables(self) -> None:
        try:
            with reading(self._store.engine) as connection:
                check_schema_version(connection, COMPONENT, SCHEMA_VERSION)
        except SchemaVersionError:
            create_component(self._store.engine, COMPONENT, SCHEMA_VERSION, metadata.sorted_tables)


def _is_there(connection: Connection, place: Mapping[str, Any]) -> bool:
    return connection.execute(select(clearance_table.c.found).filter_by(**place)).first() is not None


def _from_row(row: Row[Any]) -> Scan:
    try:
        cleared_at = None if row.cleared_at is None else moment_of(row.cleared_at)
        wait = None if row.wait_seconds is None else timedelta(seconds=row.wait_seconds)
        return Scan(str(row.identity), bytes(row.key_id), moment_of(row.scanned_at), int(row.found), cleared_at, wait)
    except (OverflowError, TypeError, ValueError):
        raise KeyringError(
            "a row of noisevault_clearance makes no sense: it was changed by hand, restore it from a backup"
        ) from None
