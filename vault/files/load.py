"""Load: rows into a table in one transaction, sealed on the way, all of them or none."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from sqlalchemy import Engine, Table, insert

ROWS_A_STATEMENT = 1000


def load(engine: Engine, table: Table, rows: Iterable[Mapping[str, Any]]) -> int:
    """Insert all `rows`, or none when one of them is refused; returns how many.

    Raises: what reading, sealing or the database refuses; the transaction is then rolled back whole.
    """
    stored = 0
    with engine.begin() as connection:
        for batch in in_batches(rows, ROWS_A_STATEMENT):
            connection.execute(insert(table), batch)
            stored += len(batch)
    return stored


def in_batches(rows: Iterable[Mapping[str, Any]], size: int) -> Iterator[list[dict[str, Any]]]:
    """Lists of at most `size` rows (itertools.batched came with Python 3.12)."""
    source = iter(rows)
    while batch := [dict(row) for row in islice(source, size)]:
        yield batch
