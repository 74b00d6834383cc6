"""Left open: the SQLite connections of SQLAlchemy that nobody closed before the collector took them.

Python 3.13 warns of them by itself. Here they are found on every version, with the test and the line that opened each.
"""

import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from weakref import finalize

from sqlalchemy import event
from sqlalchemy.pool import ConnectionPoolEntry, Pool

ROOT: Final = Path(__file__).parents[1]
NOTE: Final = "opened by"


@contextmanager
def connections_left_open() -> Iterator[list[str]]:
    """A list that grows by one line whenever the collector takes an open connection."""
    left: list[str] = []

    def ended(connection: sqlite3.Connection, opener: str) -> None:
        if _is_open(connection):
            left.append(opener)

    def opened(connection: object, record: ConnectionPoolEntry) -> None:
        if isinstance(connection, sqlite3.Connection):  # it takes no weak reference, its record does
            note = finalize(record, ended, connection, _opener())
            note.atexit = False
            record.record_info[NOTE] = note

    def detached(_connection: object, record: ConnectionPoolEntry) -> None:
        if NOTE in record.record_info:  # it lives without a record from now on
            record.record_info.pop(NOTE).detach()

    event.listen(Pool, "connect", opened)
    event.listen(Pool, "detach", detached)
    yield left
    event.remove(Pool, "connect", opened)
    event.remove(Pool, "detach", detached)


def _is_open(connection: sqlite3.Connection) -> bool:
    try:
        _ = connection.total_changes
    except sqlite3.ProgrammingError as error:  # or it is another thread's
        return "closed" not in str(error)
    return True


def _opener() -> str:
    """The test, and our own lines on the way to the connection, the innermost first."""
    lines, frame = [], sys._getframe(2)
    while frame is not None and len(lines) < 4:
        file = Path(frame.f_code.co_filename)
        if file.is_relative_to(ROOT) and not file.relative_to(ROOT).parts[0].startswith("."):
            lines.append(f"{file.relative_to(ROOT)}:{frame.f_lineno}")
        frame = frame.f_back
    return f"{os.environ.get('PYTEST_CURRENT_TEST', 'no test')}: {' < '.join(lines)}"
