"""Shared snapshot: several connections read a database as it was at one moment; PostgreSQL alone can do that.

Elsewhere each statement sees what is committed when it begins.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy import Connection, Engine, func, select

__all__ = ["NO_SNAPSHOT", "reading_snapshot", "shared_snapshot"]

NO_SNAPSHOT: Final = ""
# What pg_export_snapshot() gives: it goes into a statement that takes no parameters.
NAME: Final = re.compile(r"[0-9A-F]+(-[0-9A-F]+)*")


@contextmanager
def shared_snapshot(engine: Engine) -> Iterator[str]:
    """Within, others may read the snapshot of this name; NO_SNAPSHOT where there is none."""
    if engine.dialect.name != "postgresql":
        yield NO_SNAPSHOT
        return
    with _repeatable(engine) as connection:
        yield str(connection.scalar(select(func.pg_export_snapshot())))


@contextmanager
def reading_snapshot(engine: Engine, name: str) -> Iterator[Connection]:
    """A connection that reads that snapshot. Raises: ValueError for what is no name of one."""
    if name == NO_SNAPSHOT:
        with engine.connect() as connection:
            yield connection
        return
    if not NAME.fullmatch(name):
        raise ValueError("this is no name of a snapshot")
    with _repeatable(engine) as connection:
        connection.exec_driver_sql(f"SET TRANSACTION SNAPSHOT '{name}'")
        yield connection


@contextmanager
def _repeatable(engine: Engine) -> Iterator[Connection]:
    with engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection, connection.begin():
        yield connection
