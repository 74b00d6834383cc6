"""Key backup: the keyrings in a copy of a key store, which is read and never written to."""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DatabaseError
from sqlalchemy.pool import NullPool

from kms.errors import KeyringError
from kms.key_database import open_key_database, reading
from kms.key_record import KeyringState
from kms.key_rows import from_row, keyring_id_of
from kms.key_store import COMPONENT, SCHEMA_VERSION
from kms.key_tables import key_table, keyring_table
from kms.schema_version import check_schema_version

__all__ = ["read_backup", "read_keyrings"]

SQLITE_HEADER: Final = b"SQLite format 3\0"


def read_backup(place: str) -> list[KeyringState]:
    """Every keyring of a backup, by name. place: a SQLite file, or the SQLAlchemy URL of a database restored from one.

    Raises: KeyringError if it is no copy of a key store, SchemaVersionError, UnavailableError, MisconfiguredError.
    """
    file = _file_of(place)
    if file is None:
        engine = open_key_database(place)
        try:
            return read_keyrings(engine)
        finally:
            engine.dispose()
    with _read_only(file) as engine:
        try:
            return read_keyrings(engine)
        except DatabaseError:
            pass
    raise KeyringError(f"the backup {file} cannot be read as an SQLite database: it is damaged, or half a copy")


def read_keyrings(engine: Engine) -> list[KeyringState]:
    """Every keyring of a store, by name, all as of one moment. Raises: SchemaVersionError, UnavailableError."""
    with reading(engine) as connection:
        check_schema_version(connection, COMPONENT, SCHEMA_VERSION)
        return _keyrings(connection)


def _keyrings(connection: Connection) -> list[KeyringState]:
    order = (key_table.c.purpose, key_table.c.sequence)
    records = [from_row(row) for row in connection.execute(select(key_table).order_by(*order)).all()]
    found = connection.execute(select(keyring_table.c.id, keyring_table.c.name).order_by(keyring_table.c.name)).all()
    return [
        KeyringState(keyring_id, row.name, tuple(r for r in records if r.keyring_id == keyring_id))
        for row in found
        for keyring_id in [keyring_id_of(row)]
    ]


def _file_of(place: str) -> Path | None:
    """The SQLite file that is meant, or None for a server."""
    with suppress(ArgumentError):
        url = make_url(place)
        return Path(str(url.database)) if url.get_backend_name() == "sqlite" else None
    return Path(place)


@contextmanager
def _read_only(file: Path) -> Iterator[Engine]:
    """An engine that cannot write to the file and makes none beside it.

    A file that was copied with its log (FILE-wal) is read from a copy of both: by itself it lacks the newest keys.
    """
    _check_header(file)
    log = file.with_name(f"{file.name}-wal")
    with tempfile.TemporaryDirectory() as folder:  # of mode 0700
        uri = f"file:{quote(str(file.absolute()))}?mode=ro&immutable=1"
        if log.exists() and log.stat().st_size:
            copy = Path(folder) / "keys.db"
            shutil.copyfile(file, copy)
            shutil.copyfile(log, copy.with_name("keys.db-wal"))
            uri = f"file:{quote(str(copy))}"
        engine = create_engine(
            "sqlite://", creator=lambda: sqlite3.connect(uri, uri=True), poolclass=NullPool, hide_parameters=True
        )
        try:
            yield engine
        finally:
            engine.dispose()


def _check_header(file: Path) -> None:
    try:
        if not file.is_file():  # a pipe would be waited for without end
            file.stat()
            raise KeyringError(f"the backup {file} is no file: give the copy of the key store, or a database's URL")
        with closing(file.open("rb")) as content:
            header = content.read(len(SQLITE_HEADER))
    except OSError as error:
        raise KeyringError(f"cannot read the backup {file}: {error.strerror}") from None
    if header != SQLITE_HEADER:
        raise KeyringError(f"the backup {file} is no SQLite file: unpack or decrypt it, or give a database's URL")
