"""Short transaction: one that writes a batch: it waits for nobody's lock for long, and takes none beside its rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import Connection, Engine

__all__ = ["short_transaction"]

MARIADB: Final = frozenset({"mysql", "mariadb"})


@contextmanager
def short_transaction(engine: Engine, lock_seconds: float) -> Iterator[Connection]:
    """READ COMMITTED, committed at the end. lock_seconds: how long it waits for a row; MariaDB knows whole seconds.

    MariaDB's own level would lock the gaps beside the rows as well, where services insert.
    """
    with engine.connect() as connection:
        _before(connection, lock_seconds)
        try:
            with connection.begin():
                _within(connection, lock_seconds)
                yield connection
        finally:
            _afterwards(connection)


def _before(connection: Connection, lock_seconds: float) -> None:
    dialect = connection.dialect.name
    if dialect == "postgresql":
        connection.execution_options(isolation_level="READ COMMITTED")
    elif dialect in MARIADB:
        wait = max(1, round(lock_seconds))
        _driver(connection, f"SET SESSION innodb_lock_wait_timeout = {wait}, lock_wait_timeout = {wait}")
        _driver(connection, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED")  # of the one that begins next


def _within(connection: Connection, lock_seconds: float) -> None:
    dialect = connection.dialect.name
    if dialect == "postgresql":
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {int(lock_seconds * 1000)}")
    elif dialect == "sqlite" and not _begun(connection):
        connection.exec_driver_sql("BEGIN IMMEDIATE")  # else a reader that turns writer may be refused at once


def _afterwards(connection: Connection) -> None:
    """The connection goes back to a pool, where others take it."""
    if connection.dialect.name in MARIADB and not connection.invalidated:
        try:
            _driver(connection, "SET SESSION innodb_lock_wait_timeout = DEFAULT, lock_wait_timeout = DEFAULT")
        except connection.dialect.loaded_dbapi.Error:
            connection.invalidate()


def _driver(connection: Connection, statement: str) -> None:
    """Outside of a transaction of SQLAlchemy's."""
    driver: Any = connection.connection
    with driver.cursor() as cursor:
        cursor.execute(statement)


def _begun(connection: Connection) -> bool:
    driver: Any = connection.connection.dbapi_connection
    return bool(driver.in_transaction)
