"""KEK versions: by which versions of each key-encryption key data keys are wrapped or were, and until when.

A backup of the key store from before `left_at` has keys under that version. So it is held for as long as such a
backup may be restored, and given up in the key service by an operator, never by us.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Column, Connection, Engine, LargeBinary, MetaData, Row, Table, insert, select, update
from sqlalchemy.dialects.mysql import VARBINARY

from kms.errors import KeyringError, SchemaVersionError
from kms.exact_text import MARIADB_TRANSACTIONAL, exact_text
from kms.key_database import reading
from kms.key_record import KeyRecord
from kms.key_rows import kek_of, moment_of, time_text
from kms.key_tables import key_table
from kms.provider import Wrapped
from kms.schema_version import check_schema_version, create_component

__all__ = ["KekVersionUse", "note_versions_left", "read_kek_versions", "require_kek_version_table"]

# Of its own, so that a key store from before it gets this table and keeps the others.
COMPONENT: Final = "kek-versions"
SCHEMA_VERSION: Final = 1

metadata: Final = MetaData()
kek_version_left_table: Final = Table(
    "noisevault_kek_version_left",
    metadata,
    Column("keyring_id", LargeBinary(16).with_variant(VARBINARY(16), "mysql", "mariadb"), primary_key=True),
    Column("kek", exact_text(500), primary_key=True),
    Column("kek_version", exact_text(64), primary_key=True),
    Column("left_at", exact_text(32), nullable=False),  # ISO 8601, UTC, microseconds
    **MARIADB_TRANSACTIONAL,
)


@dataclass(frozen=True, slots=True)
class KekVersionUse:
    """Of all keyrings of the store. wraps: how many keys now. left_at: the last moment at which one was, if none is."""

    kek: str
    version: str
    wraps: int
    left_at: datetime | None


def require_kek_version_table(engine: Engine) -> None:
    """Make it where it is missing. Raises: SchemaVersionError, UnavailableError."""
    try:
        with reading(engine) as connection:
            check_schema_version(connection, COMPONENT, SCHEMA_VERSION)
    except SchemaVersionError:
        create_component(engine, COMPONENT, SCHEMA_VERSION, metadata.sorted_tables)


def note_versions_left(connection: Connection, changes: Sequence[tuple[KeyRecord, Wrapped]], moment: datetime) -> None:
    """Note, in the transaction that stores them, which versions the changed keys were under until now."""
    table, left_at = kek_version_left_table, time_text(moment)
    left = {
        (record.keyring_id, record.wrapped.kek, record.wrapped.kek_version)
        for record, new in changes
        if record.wrapped is not None and (record.wrapped.kek, record.wrapped.kek_version) != (new.kek, new.kek_version)
    }
    for keyring_id, kek, version in sorted(left):
        row = {"keyring_id": keyring_id, "kek": kek, "kek_version": version}
        there = (table.c.keyring_id == keyring_id) & (table.c.kek == kek) & (table.c.kek_version == version)
        if connection.execute(update(table).where(there).values(left_at=left_at)).rowcount == 0:
            connection.execute(insert(table).values(row | {"left_at": left_at}))


def read_kek_versions(connection: Connection) -> list[KekVersionUse]:
    """By KEK and version: kept keys, tombstones, and what was noted when keys were wrapped by another version.

    What was left before this table was there is not known.
    """
    keys = select(
        key_table.c.kek, key_table.c.kek_version, key_table.c.wrapped.is_not(None).label("kept"), key_table.c.changed_at
    )
    try:
        ended = [(row, None if row.kept else row.changed_at) for row in connection.execute(keys)]
        ended += [(row, row.left_at) for row in connection.execute(select(kek_version_left_table))]
        return _by_version(ended)
    except (OverflowError, TypeError, ValueError):
        raise KeyringError(
            "a row of noisevault_key or noisevault_kek_version_left makes no sense: it was changed by hand, restore it"
            " from a backup"
        ) from None


def _by_version(ended: Iterable[tuple[Row[Any], str | None]]) -> list[KekVersionUse]:
    wraps: dict[tuple[str, str], int] = {}
    left: dict[tuple[str, str], datetime] = {}
    for row, text in ended:
        place = (kek_of(row), str(row.kek_version))
        wraps.setdefault(place, 0)
        if text is None:
            wraps[place] += 1
        else:
            moment = moment_of(text)
            left[place] = max(left.get(place, moment), moment)
    return [
        KekVersionUse(*place, wraps[place], None if wraps[place] else left[place])
        for place in sorted(wraps, key=lambda one: (one[0], len(one[1]), one[1]))
    ]
