"""Prepared transactions: on MariaDB, what the first phase of XA has left, of which no lock of the table tells.

Its client may be gone, no trigger waits for it and no scan sees its rows; and it commits whenever somebody says so.
"""

import time
from typing import Any, Final

from sqlalchemy import Engine

from vault.errors import KeyInUseError
from vault.triggers.patient_ddl import PATIENCE

__all__ = ["wait_for_prepared"]

PAUSE_SECONDS: Final = 0.5


def wait_for_prepared(engine: Engine, patience: float = PATIENCE) -> None:
    """Until those that are prepared now have ended, of any database of the server: MariaDB does not tell which.

    Nothing is to do elsewhere: PostgreSQL's keep their locks, which a trigger waits for, and SQLite has none.
    Raises: KeyInUseError after `patience` seconds, saying how to end them.
    """
    if engine.dialect.name not in {"mysql", "mariadb"}:
        return
    end, left = time.monotonic() + patience, _prepared(engine)
    while left:
        if time.monotonic() > end:
            raise KeyInUseError(
                f"{len(left)} transactions are prepared (XA) on this server, with rows that nobody sees before they"
                " commit: list them by XA RECOVER, end each by XA COMMIT or XA ROLLBACK, then type the same command"
            )
        time.sleep(PAUSE_SECONDS)
        left &= _prepared(engine)


def _prepared(engine: Engine) -> set[tuple[Any, ...]]:
    with engine.connect() as connection:
        return {tuple(row) for row in connection.exec_driver_sql("XA RECOVER")}
