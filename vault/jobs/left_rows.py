"""Left rows: which rows a run could not do, and whether somebody has them locked now.

Looked for by another walk, so only when the proof has found that rows are left, or cannot tell (see OverlooksRows).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

from sqlalchemy import Engine, Select, literal, select

from vault.jobs.change import Key
from vault.jobs.short_transaction import short_transaction
from vault.jobs.walking.key_pages import keys_of, page_statement
from vault.jobs.walking.key_range import KeyRange
from vault.jobs.walking.readable_page import read_page
from vault.jobs.work import Work

__all__ = ["FREE", "LOCKED", "MOST_LEFT", "MOVING", "LeftRow", "count_left_rows", "left_rows"]

# Ours: so many are named, and so many are read at once.
MOST_LEFT: Final = 20
ROWS_A_PAGE: Final = 10_000
LOCKED: Final = "locked by somebody else"
FREE: Final = "locked or changed whenever the run came to it, and free now"
MOVING: Final = "changed while they were looked for"


@dataclass(frozen=True, slots=True)
class LeftRow:
    """key: as the driver gives it."""

    key: Key
    reason: str


def left_rows(
    engine: Engine, work: Work, key_range: KeyRange, is_stopping: Callable[[], bool] = lambda: False
) -> list[LeftRow]:
    """The first MOST_LEFT rows that are still due, in key order; what does not open is in the quarantine, not here.

    Raises: DBAPIError, KmsError.
    """
    found = islice(_due(engine, work, key_range, is_stopping), MOST_LEFT)
    return [LeftRow(key, LOCKED if _is_locked(engine, work, key) else FREE) for key in found]


def count_left_rows(
    engine: Engine, work: Work, key_range: KeyRange, is_stopping: Callable[[], bool] = lambda: False
) -> int:
    """How many rows are still due; of those before the run was to stop. Raises: as left_rows."""
    return sum(1 for _ in _due(engine, work, key_range, is_stopping))


def _due(engine: Engine, work: Work, key_range: KeyRange, is_stopping: Callable[[], bool]) -> Iterator[Key]:
    """The keys of the rows that the work would change, as they are now, locked or not."""

    def statement(part: KeyRange, most: int, reads: Sequence[str]) -> Select[Any]:
        return page_statement(work.table, reads, part, most, engine.dialect.name)

    at = key_range
    while not is_stopping():
        page = read_page(engine, lambda rows: keys_of(work.table, rows), statement, list(work.reads), at, ROWS_A_PAGE)
        if page.rows:
            yield from (change.key for change in work.renew(page.rows)[0])
        if page.length < ROWS_A_PAGE:
            return
        at = replace(at, after=page.last)


def _is_locked(engine: Engine, work: Work, key: Key) -> bool:
    """SQLite locks no row."""
    if engine.dialect.name == "sqlite":
        return False
    names = work.table.primary_key.columns
    there = select(literal(1)).where(*(column == part for column, part in zip(names, key, strict=True)))
    with short_transaction(engine, 1) as connection:
        had = connection.execute(there.with_for_update(skip_locked=True)).first()
        return had is None and connection.execute(there).first() is not None
