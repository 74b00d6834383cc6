"""Parts: the key ranges that the pass of a job is split into, kept until it has ended, each with its own checkpoint.

Each part is a row of noisevault_job too, so its batches wait for nobody's but their own. What the parts did is added
to the job when the pass ends, in the transaction that removes them: nothing is counted twice, whoever dies when.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import Connection, and_, delete, func, insert, select

from vault.jobs.job_store import COUNTS, JobName, JobState, JobStore, Taken
from vault.jobs.job_tables import job_table_of_jobs, part_table
from vault.jobs.short_transaction import short_transaction
from vault.jobs.walking.key_range import KeyRange
from vault.jobs.walking.key_text import key_digest, read_key, write_key

__all__ = ["Part", "Parts", "Progress", "forget_parts"]

JOB: Final = job_table_of_jobs.c
PART: Final = part_table.c
LOCK_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True, repr=False)
class Part:
    """place: in key order, from 0. after, up_to: primary keys as JSON, which a worker anywhere reads the same."""

    name: JobName
    place: int
    after: str | None
    up_to: str | None

    @property
    def key_range(self) -> KeyRange:
        return KeyRange(*(None if text is None else read_key(text) for text in (self.after, self.up_to)))


@dataclass(frozen=True, slots=True)
class Progress:
    """run: who works at the part, or did last; None: nobody has begun it. The counts are rows."""

    run: str | None = None
    state: JobState | None = None
    seen: int = 0
    missed: int = 0
    failed: int = 0
    rewritten: int = 0

    @property
    def is_done(self) -> bool:
        return self.state is JobState.COMPLETE


class Parts:
    """Of the pass that was taken."""

    def __init__(self, store: JobStore, taken: Taken) -> None:
        self._store = store
        self._taken = taken

    def stored(self) -> list[Part]:
        """As the pass was split before, by a run that was stopped or died; empty if it was not."""
        name = self._taken.name
        ours = and_(PART.job == name.job, PART.table_name == name.table, PART.mark == self._taken.mark)
        with self._store.engine.connect() as connection:
            rows = connection.execute(select(part_table).where(ours).order_by(PART.place)).mappings().all()
        return [Part(replace(name, part=row["part"]), row["place"], row["after_key"], row["up_to_key"]) for row in rows]

    def begin(self, ranges: Sequence[KeyRange]) -> list[Part]:
        """Keep them, in place of what was kept for the job. Raises: JobRunningError, KeyNotKeptError."""
        name, mark = self._taken.name, self._taken.mark
        parts = []
        for place, one in enumerate(ranges):
            after, up_to = (None if key is None else write_key(key) for key in (one.after, one.up_to))
            parts.append(Part(replace(name, part=key_digest(repr((mark, after, up_to)))), place, after, up_to))
        with short_transaction(self._store.engine, LOCK_SECONDS) as connection:
            self._store.require(connection, self._taken)
            _remove(connection, name)
            connection.execute(
                insert(part_table),
                [
                    {"job": name.job, "table_name": name.table, "part": part.name.part, "place": part.place}
                    | {"mark": mark, "after_key": part.after, "up_to_key": part.up_to}
                    for part in parts
                ],
            )
        return parts

    def progress(self) -> dict[str, Progress]:
        """By the part's name, of those that somebody has begun."""
        columns = [JOB.part, JOB.run, JOB.state, *(JOB[name] for name in COUNTS)]
        with self._store.engine.connect() as connection:
            rows = connection.execute(select(*columns).where(*_begun(self._taken))).mappings().all()
        return {
            row["part"]: Progress(row["run"], JobState(row["state"]), **{name: row[name] for name in COUNTS})
            for row in rows
        }

    def end(self) -> None:
        """Add to the job what its parts did, and remove them. Raises: JobRunningError."""
        sums = [func.coalesce(func.sum(JOB[name]), 0).label(name) for name in COUNTS]
        with short_transaction(self._store.engine, LOCK_SECONDS) as connection:
            self._store.require(connection, self._taken)
            done = connection.execute(select(*sums).where(*_begun(self._taken))).mappings().one()
            self._store.count(connection, self._taken, **{name: int(done[name]) for name in COUNTS})
            _remove(connection, self._taken.name)


def forget_parts(store: JobStore, taken: Taken) -> None:
    """A run that is not split begins where parts may be left. Raises: JobRunningError."""
    name = taken.name
    with store.engine.connect() as connection:
        left = select(PART.part).where(PART.job == name.job, PART.table_name == name.table).limit(1)
        if connection.execute(left).first() is None:
            return
    with short_transaction(store.engine, LOCK_SECONDS) as connection:
        store.require(connection, taken)
        _remove(connection, name)


def _begun(taken: Taken) -> list[Any]:
    name = taken.name
    return [
        JOB.job == name.job,
        JOB.table_name == name.table,
        JOB.mark == taken.mark,
        JOB.part != name.part,
    ]


def _remove(connection: Connection, name: JobName) -> None:
    """The parts' rows of noisevault_job are named first: a range that somebody runs by itself is none of them."""
    of_job = and_(PART.job == name.job, PART.table_name == name.table)
    parts = connection.scalars(select(PART.part).where(of_job)).all()
    for start in range(0, len(parts), 500):
        some = parts[start : start + 500]
        connection.execute(
            delete(job_table_of_jobs).where(JOB.job == name.job, JOB.table_name == name.table, JOB.part.in_(some))
        )
    connection.execute(delete(part_table).where(of_job))
