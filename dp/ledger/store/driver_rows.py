"""Driver rows: what a statement reads, as the driver gives it; no object is made of a row."""

from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

from sqlalchemy import Connection, Select

__all__ = ["driver_rows"]

# Ours: so few are still in the processor's cache when they are looked at.
ROWS_AT_A_TIME: Final = 250


def driver_rows(connection: Connection, statement: Select[Any], **values: int) -> Iterator[tuple[Any, ...]]:
    """For columns that SQLAlchemy leaves as the driver gives them. Raises: DBAPIError."""
    return chain.from_iterable(_pages(connection, statement, values))


def _pages(connection: Connection, statement: Select[Any], values: dict[str, int]) -> Iterator[Any]:
    with connection.execute(statement, values) as result:
        while page := result.cursor_strategy.fetchmany(result, result.cursor, ROWS_AT_A_TIME):
            yield page
