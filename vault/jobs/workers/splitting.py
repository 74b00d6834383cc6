"""Splitting: a key range cut into several of about as many rows, at keys that the database picks at random.

The database picks, orders and compares, so a key may be of any type and of several columns. The ranges meet no row
twice and leave none out, whatever comes meanwhile: the first has no beginning of its own and the last no end. An
unlucky pick makes a range longer, nothing else.
"""

from itertools import pairwise
from typing import Any, Final

from sqlalchemy import Engine, Select, Table, func, select, tablesample
from sqlalchemy.exc import DBAPIError

from vault.jobs.change import Key
from vault.jobs.verifying.sampling import is_picked
from vault.jobs.walking.key_pages import key_of, page_statement
from vault.jobs.walking.key_range import KeyRange
from vault.jobs.walking.key_text import KeyNotKeptError, read_key, write_key

__all__ = ["split"]

# Ours: keys that are picked for each cut; so many that most ranges are within a third of each other.
PICKED_A_CUT: Final = 40
# Ours: from so many rows on PostgreSQL picks whole pages, and reads no others.
ROWS_FOR_PAGES: Final = 200_000
ROWS_A_PAGE: Final = 50


def split(engine: Engine, table: Table, key_range: KeyRange, rows: int, ranges: int) -> list[KeyRange]:
    """At most so many ranges, in key order. table: as job_table() makes it. rows: that the range is thought to have.

    One range where there is nothing to cut at, as of keys that have no text. Raises: DBAPIError.
    """
    if ranges < 2 or rows < ranges:
        return [key_range]
    cuts = _kept(evenly(_picked(engine, table, key_range, min(1.0, PICKED_A_CUT * ranges / rows), rows), ranges))
    ends = [key_range.after, *cuts, key_range.up_to]
    return [KeyRange(after, up_to) for after, up_to in pairwise(ends)]


def evenly(keys: list[Key], ranges: int) -> list[Key]:
    """Of keys in order, those that part them into so many runs of equal length; fewer where there are fewer keys."""
    places = sorted({len(keys) * at // ranges for at in range(1, ranges)})
    return [keys[place] for place in places if place < len(keys)]


def _kept(keys: list[Key]) -> list[Key]:
    """None of them, where one has no text that it is read from again."""
    try:
        return keys if all(read_key(write_key(key)) == key for key in keys) else []
    except KeyNotKeptError:
        return []


def _picked(engine: Engine, table: Table, key_range: KeyRange, share: float, rows: int) -> list[Key]:
    """About that share of the keys, in order, each once."""
    dialect = engine.dialect.name
    if dialect == "postgresql" and rows >= ROWS_FOR_PAGES and key_range.is_whole:
        try:
            keys = _read(engine, table, _of_pages(table, share))
        except DBAPIError as error:
            if error.connection_invalidated:
                raise
            keys = []  # a view, or a table of another server
        if keys:
            return keys
    statement = page_statement(table, (), key_range, rows, dialect).limit(None)
    return _read(engine, table, statement if share >= 1 else statement.where(is_picked(share, dialect)))


def _of_pages(table: Table, share: float) -> Select[Any]:
    """Many pages and about one key of each: the rows of a page lie near each other."""
    sample = tablesample(table, func.system(min(100.0, 100 * share * ROWS_A_PAGE)))
    keys = [sample.c[key.name] for key in table.primary_key.columns]
    return select(*keys).where(func.random() < 1 / ROWS_A_PAGE).order_by(*keys)


def _read(engine: Engine, table: Table, statement: Select[Any]) -> list[Key]:
    keys: list[Key] = []
    with engine.connect() as connection:
        for row in connection.execute(statement).mappings():
            key = key_of(table, row)
            if not keys or keys[-1] != key:
                keys.append(key)
    return keys
