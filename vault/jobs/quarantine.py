"""Quarantine: the rows that a job could not do, listed in noisevault_quarantine by key and reason, without a value.

An entry bears the mark of the pass that found it. When a pass has seen all rows, what bears another mark is no longer
so: the row opens again, or is gone.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, and_, delete, distinct, func, insert, or_, select

from vault.jobs.change import Failed, Key
from vault.jobs.job_tables import has_job_tables, quarantine_table
from vault.jobs.walking.key_text import KeyNotKeptError, key_digest, read_key, write_key

__all__ = ["count_rows", "let_go", "listed", "note", "of_pass", "rows_by_job", "shown_key"]

Q = quarantine_table.c
REASON_CHARACTERS = 500
NO_TEXT = '["a key of a kind that has no text"]'


def shown_key(key: Key) -> str:
    """The key as JSON; of a kind that has none, as much as can be said."""
    try:
        return write_key(key)
    except KeyNotKeptError:
        return NO_TEXT


def note(connection: Connection, job: str, table: str, mark: str, failed: Sequence[Failed]) -> None:
    """List them, in the caller's transaction, each once."""
    if not failed:
        return
    rows = {}
    for one in failed:
        text = shown_key(one.key)
        rows[key_digest(text), one.column] = (text, one.reason[:REASON_CHARACTERS])
    places = [
        and_(Q.job == job, Q.table_name == table, Q.row_digest == digest, Q.column_name == column)
        for digest, column in rows
    ]
    for start in range(0, len(places), 100):
        connection.execute(delete(quarantine_table).where(or_(*places[start : start + 100])))
    found_at = datetime.now(UTC).isoformat(timespec="microseconds")
    connection.execute(
        insert(quarantine_table),
        [
            {"job": job, "table_name": table, "row_digest": digest, "column_name": column, "row_key": text}
            | {"reason": reason, "mark": mark, "found_at": found_at}
            for (digest, column), (text, reason) in rows.items()
        ],
    )


def let_go(
    connection: Connection,
    job: str,
    table: str,
    mark: str,
    elsewhere: Callable[[Sequence[Key]], set[Key]] | None = None,
) -> None:
    """Take out what the pass with this mark did not find again.

    elsewhere: of some keys, those of rows that it did not come to; None: it saw all rows.
    """
    old = and_(Q.job == job, Q.table_name == table, Q.mark != mark)
    if elsewhere is None:
        connection.execute(delete(quarantine_table).where(old))
        return
    texts = sorted(set(connection.scalars(select(Q.row_key).where(old))))
    keys = {read_key(text): text for text in texts if text != NO_TEXT}  # of that nobody can tell where it is
    kept = elsewhere(list(keys))
    for key, text in keys.items():
        if key not in kept:
            connection.execute(delete(quarantine_table).where(old, Q.row_digest == key_digest(text)))


def of_pass(connection: Connection, job: str, table: str, mark: str) -> Iterator[RowMapping]:
    """What the pass with this mark has listed so far, by key."""
    ours = select(quarantine_table).where(Q.job == job, Q.table_name == table, Q.mark == mark)
    found = connection.execution_options(yield_per=1000).execute(ours.order_by(Q.row_key, Q.column_name))
    yield from found.mappings()


def count_rows(connection: Connection, job: str, table: str) -> int:
    """How many rows of the table are listed."""
    rows = select(func.count(distinct(Q.row_digest))).where(Q.job == job, Q.table_name == table)
    return connection.scalar(rows) or 0


def rows_by_job(connection: Connection) -> dict[tuple[str, str], int]:
    """How many rows are listed, by job and table."""
    if not has_job_tables(connection):
        return {}
    rows = select(Q.job, Q.table_name, func.count(Q.row_digest.distinct())).group_by(Q.job, Q.table_name)
    return {(job, table): number for job, table, number in connection.execute(rows.order_by(Q.job, Q.table_name))}


def listed(connection: Connection, table: str | None = None) -> list[RowMapping]:
    """All entries, or those of a table, by table and key."""
    if not has_job_tables(connection):
        return []
    conditions: list[Any] = [] if table is None else [Q.table_name == table]
    order = (Q.table_name, Q.job, Q.row_key, Q.column_name)
    return list(connection.execute(select(quarantine_table).where(*conditions).order_by(*order)).mappings())
