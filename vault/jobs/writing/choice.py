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
    connection: Connection, table: Table, compares: Sequence[str], sets: Sequence[str], most_bytes: int = MOST_BYTES
) -> BatchWriter:
    """For the raw table of a work, whose compared and set columns are named; the connection is asked, and not kept.

    most_bytes: of new values in one statement.

    Raises: DefinitionError, before anything is written, for a database, table or column that cannot be written so.
    """
    if not table.primary_key.columns:
        raise DefinitionError(f"{table.fullname} has no primary key to find a row by: declare one")
    statements = _statements(connection, table, list(compares), list(sets))
    require_comparable(table, compares, connection.dialect)
    return WritesHeldRows(statements, table, compares, sets, connection.dialect, most_bytes)


def _statements(connection: Connection, table: Table, compares: list[str], sets: list[str]) -> HoldsAndPuts:
    dialect = connection.dialect
    match dialect.name, dialect.driver:
        case "postgresql", "psycopg":
            from vault.jobs.writing.postgres import PostgresStatements
            from vault.jobs.writing.postgres_columns import postgres_columns

            return PostgresStatements(table, postgres_columns(connection, table, compares, sets), compares, sets)
        case (("mysql" | "mariadb"), "pymysql") if _has_skip_locked(connection):
            from vault.jobs.writing.mariadb import MariadbStatements
            from vault.jobs.writing.mariadb_columns import mariadb_columns, touched_columns

            columns = mariadb_columns(connection, table, compares, sets)
            touched = touched_columns(connection, table, sets)
            return MariadbStatements(connection, table, columns, compares, sets, touched)
        case "sqlite", "pysqlite":
            from vault.jobs.writing.sqlite import SqliteStatements

            return SqliteStatements(connection, table, compares, sets)
        case name, driver:
            version = ".".join(map(str, dialect.server_version_info or ()))
            raise DefinitionError(f"{SUPPORTED}, not into {name}+{driver} {version}".rstrip())


def _has_skip_locked(connection: Connection) -> bool:
    version = connection.dialect.server_version_info or ()
    return bool(getattr(connection.dialect, "is_mariadb", False)) and version >= MARIADB
