"""Left rows: which rows a run could not do, at most so many, and whether somebody has them locked now.

Looked for by another walk, so only when the proof has found that rows are left.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from sqlalchemy import Engine, literal, select

from vault.jobs.change import Key
from vault.jobs.short_transaction import short_transaction
from vault.jobs.walking.key_pages import key_of, page_statement
from vault.jobs.walking.key_range import KeyRange
from vault.jobs.work import Work

__all__ = ["FREE", "LOCKED", "MOST_LEFT", "MOVING", "LeftRow", "left_rows"]

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
    at, found = key_range, list[Key]()
    while len(found) < MOST_LEFT and not is_stopping():
        with engine.connect() as connection:
            statement = page_statement(work.table, work.reads, at, ROWS_A_PAGE, engine.dialect.name)
            page = connection.execute(statement).mappings().all()
        if page:
            at = replace(at, after=key_of(work.table, page[-1]))
            found += [change.key for change in work.renew(page)[0]]
        if len(page) < ROWS_A_PAGE:
            break
    return [LeftRow(key, LOCKED if _is_locked(engine, work, key) else FREE) for key in found[:MOST_LEFT]]


def _is_locked(engine: Engine, work: Work, key: Key) -> bool:
    """SQLite locks no row."""
    if engine.dialect.name == "sqlite":
        return False
    names = work.table.primary_key.columns
    there = select(literal(1)).where(*(column == part for column, part in zip(names, key, strict=True)))
    with short_transaction(engine, 1) as connection:
        had = connection.execute(there.with_for_update(skip_locked=True)).first()
        return had is None and connection.execute(there).first() is not None
