"""Short transaction: one that writes a batch: it waits for nobody's lock for long, and takes none beside its rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

__all__ = ["short_transaction"]

MARIADB: Final = frozenset({"mysql", "mariadb"})


@contextmanager
def short_transaction(engine: Engine, lock_seconds: float) -> Iterator[Connection]:
    """READ COMMITTED, committed at the end. lock_seconds: how long it waits for a row; MariaDB knows whole seconds.

    MariaDB's own level would lock the gaps beside the rows as well, where services insert.
    """
    with engine.connect() as connection:
        if connection.dialect.name == "postgresql":
            connection.execution_options(isolation_level="READ COMMITTED")
        try:
            with connection.begin():
                _begin(connection, lock_seconds)
                yield connection
        finally:
            _leave_as_it_was(connection)


def _begin(connection: Connection, lock_seconds: float) -> None:
    dialect = connection.dialect.name
    if dialect == "postgresql":
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {int(lock_seconds * 1000)}")
    elif dialect in MARIADB:  # whose transaction begins with the first statement that reads or writes a table
        wait = max(1, round(lock_seconds))
        connection.exec_driver_sql(f"SET SESSION innodb_lock_wait_timeout = {wait}, lock_wait_timeout = {wait}")
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
    elif dialect == "sqlite" and not _has_begun(connection):
        connection.exec_driver_sql("BEGIN IMMEDIATE")  # else a reader that turns writer may be refused at once


def _leave_as_it_was(connection: Connection) -> None:
    """The connection goes back to a pool, where others take it."""
    if connection.dialect.name in MARIADB and not connection.invalidated:
        try:
            connection.exec_driver_sql("SET SESSION innodb_lock_wait_timeout = DEFAULT, lock_wait_timeout = DEFAULT")
            connection.rollback()
        except DBAPIError:
            connection.invalidate()


def _has_begun(connection: Connection) -> bool:
    driver: Any = connection.connection.dbapi_connection
    return bool(driver.in_transaction)
