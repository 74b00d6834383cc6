"""Choice: what writes the batches of a job into a database of this kind, or why nothing does."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, Table

from vault.errors import DefinitionError
from vault.jobs.work import BatchWriter
from vault.jobs.writing.comparable import require_comparable
from vault.jobs.writing.held_rows import MOST_BYTES, HoldsAndPuts, WritesHeldRows

__all__ = ["batch_writer"]

SUPPORTED: Final = (
    "jobs write into PostgreSQL (postgresql+psycopg), MariaDB 10.6 or later (mysql+pymysql, mariadb+pymysql) and SQLite"
)
# The first with SKIP LOCKED.
MARIADB: Final = (10, 6)


def batch_writer(
    connection: Connection,
    table: Table,
    compares: Sequence[str],
    sets: Sequence[str],
    most_bytes: int = MOST_BYTES,
    compared: Table | None = None,
) -> BatchWriter:
    """For the raw table of a work, whose compared and set columns are named; the connection is asked, and not kept.

    most_bytes: of new values in one statement. compared: the table with the types that it is compared by, where those
    are others than it is written by.

    Raises: DefinitionError, before anything is written, for a database, table or column that cannot be written so.
    """
    if not table.primary_key.columns:
        raise DefinitionError(f"{table.fullname} has no primary key to find a row by: declare one")
    compared = table if compared is None else compared
    statements = _statements(connection, table, compared, list(compares), list(sets))
    require_comparable(compared, compares, connection.dialect)
    return WritesHeldRows(statements, table, compared, compares, sets, connection.dialect, most_bytes)


def _statements(
    connection: Connection, table: Table, compared: Table, compares: list[str], sets: list[str]
) -> HoldsAndPuts:
    dialect = connection.dialect
    match dialect.name, dialect.driver:
        case "postgresql", "psycopg":
            from vault.jobs.writing.postgres import PostgresStatements
            from vault.jobs.writing.postgres_columns import postgres_columns

            of_catalog = postgres_columns(connection, compared, compares, sets)
            return PostgresStatements(table, compared, of_catalog, compares, sets)
        case (("mysql" | "mariadb"), "pymysql") if _has_skip_locked(connection):
            from vault.jobs.writing.mariadb import MariadbStatements
            from vault.jobs.writing.mariadb_columns import mariadb_columns, touched_columns

            columns = mariadb_columns(connection, compared, compares, sets)
            touched = touched_columns(connection, table, sets)
            return MariadbStatements(connection, table, compared, columns, compares, sets, touched)
        case "sqlite", "pysqlite":
            from vault.jobs.writing.sqlite import SqliteStatements

            return SqliteStatements(connection, table, compared, compares, sets)
        case name, driver:
            version = ".".join(map(str, dialect.server_version_info or ()))
            raise DefinitionError(f"{SUPPORTED}, not into {name}+{driver} {version}".rstrip())


def _has_skip_locked(connection: Connection) -> bool:
    version = connection.dialect.server_version_info or ()
    return bool(getattr(connection.dialect, "is_mariadb", False)) and version >= MARIADB
