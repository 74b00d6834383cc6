"""Job store: the progress of each job in noisevault_job, who runs it, and what an operator wishes of it.

A row counts on (`beat`) while its run lives. So no clock is compared with another machine's: whoever wants the job
watches the count, and takes it over when it stands still.
"""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import Connection, Engine, RowMapping, and_, insert, select, update
from sqlalchemy.exc import IntegrityError

from vault.errors import JobError, JobRunningError
from vault.jobs.job_tables import create_job_tables, has_job_tables, job_table_of_jobs, part_table
from vault.jobs.short_transaction import short_transaction
from vault.jobs.walking.key_range import KeyRange
from vault.jobs.walking.key_text import KeyNotKeptError, key_digest, read_key, write_key

__all__ = ["COUNTS", "JobName", "JobState", "JobStore", "JobWish", "Taken", "is_held"]

JOB: Final = job_table_of_jobs.c
PART: Final = part_table.c
# Of noisevault_job, what the parts of a job add to it. The others are the run's own.
COUNTS: Final = ("seen", "missed", "failed", "rewritten")
WHOLE_TABLE: Final = "whole"
LOCK_SECONDS: Final = 5.0
# Ours: how often a watched row is read.
LOOK_SECONDS: Final = 0.2


class JobState(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    INCOMPLETE = "incomplete"
    COMPLETE = "complete"

    @property
    def is_held(self) -> bool:
        """Whether somebody runs it, or died while he did."""
        return self in {JobState.RUNNING, JobState.PAUSED}


def is_held(state: str) -> bool:
    """Of what a row says: a state that was written by hand is nobody's."""
    return state in {one.value for one in JobState if one.is_held}


class JobWish(StrEnum):
    RUN = "run"
    PAUSE = "pause"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class JobName:
    """A kind of job, the table that it is done to, and which part of it: "whole", or a digest of the key range."""

    job: str
    table: str
    part: str = WHOLE_TABLE

    @classmethod
    def of(cls, job: str, table: str, key_range: KeyRange) -> "JobName":
        if key_range.is_whole:
            return cls(job, table)
        ends = [None if key is None else write_key(key) for key in (key_range.after, key_range.up_to)]
        return cls(job, table, key_digest(repr(ends)))

    def is_row(self) -> Any:
        return and_(JOB.job == self.job, JOB.table_name == self.table, JOB.part == self.part)


@dataclass(frozen=True, slots=True, repr=False)
class Taken:
    """A job that is ours to run. done_up_to and what follows: of the checkpoint, else of the beginning."""

    name: JobName
    run: str
    mark: str
    number: int = 1
    done_up_to: tuple[Any, ...] | None = None
    seen: int = 0
    missed: int = 0
    failed: int = 0

    @property
    def resumed(self) -> bool:
        return self.number > 1 or self.done_up_to is not None or self.seen > 0


class JobStore:
    """now: aware UTC. sleep, clock: of seconds."""

    def __init__(
        self,
        engine: Engine,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.engine = engine
        self._now = now
        self._sleep = sleep
        self._clock = clock

    def create(self) -> None:
        """Make the tables if they are missing. Raises: JobTablesError."""
        create_job_tables(self.engine)

    def take(self, name: JobName, goal: str, total: int, silence: float, mark: str | None = None) -> Taken:
        """Make the job ours, from its checkpoint if that is of the same goal.

        silence: so many seconds a run that died may not have counted, before it is taken over.
        mark: of the pass that the job is a part of; its checkpoint is used if that is of the same pass.
        Raises: JobRunningError when another run lives.
        """
        run = secrets.token_hex(16)
        while True:
            found = self._row(name)
            if found is None:
                if self._insert(name, goal, total, run, mark or run):
                    return Taken(name, run, mark or run)
                continue
            if is_held(found["state"]):
                self._watch(name, found, silence)
            taken = _from_checkpoint(name, run, found, goal, mark)
            if self._take_over(found, taken, goal, total):
                return taken
            # somebody else was quicker: look again at who that is

    def advance(self, connection: Connection, taken: Taken, done_up_to: tuple[Any, ...], **counts: int) -> None:
        """Note, in the caller's transaction, that all up to that key is done. counts: to be added, by column.

        Raises: JobRunningError when another run has taken the job over.
        """
        try:
            checkpoint: str | None = write_key(done_up_to)
        except KeyNotKeptError:
            checkpoint = None
        self._update(connection, taken, done_up_to=checkpoint, **_added(counts))

    def count(self, connection: Connection, taken: Taken, **counts: int) -> None:
        """Add to these columns, in the caller's transaction; the checkpoint stays. Raises: JobRunningError."""
        self._update(connection, taken, **_added(counts))

    def require(self, connection: Connection, taken: Taken) -> None:
        """Until the caller's transaction ends, nobody else takes the job over. Raises: JobRunningError if one has."""
        self._update(connection, taken)

    def begin_pass(self, taken: Taken, goal: str, total: int) -> None:
        """Raises: JobRunningError."""
        with short_transaction(self.engine, LOCK_SECONDS) as connection:
            at_once = {"number": taken.number, "mark": taken.mark, "goal": goal, "total": total, "done_up_to": None}
            self._update(connection, taken, **at_once, **dict.fromkeys(("seen", "missed", "failed"), 0))

    def tell(self, taken: Taken, state: JobState) -> None:
        """Raises: JobRunningError."""
        with short_transaction(self.engine, LOCK_SECONDS) as connection:
            self._update(connection, taken, state=state)

    def beat(self, taken: Taken) -> JobWish:
        """Count on; and what is wished. Raises: JobRunningError when another run has taken the job over."""
        with short_transaction(self.engine, LOCK_SECONDS) as connection:
            self._update(connection, taken)
            wish = connection.execute(select(JOB.wish).where(taken.name.is_row())).scalar_one()
            return JobWish(wish) if wish in set(JobWish) else JobWish.RUN  # written by hand

    def wish(self, name: JobName, wish: JobWish) -> None:
        """Ask the run of the job for it. Raises: JobError when nobody runs it."""
        held = JOB.state.in_([state.value for state in JobState if state.is_held])
        with short_transaction(self.engine, LOCK_SECONDS) as connection:
            statement = update(job_table_of_jobs).where(name.is_row(), held).values(wish=wish.value)
            if has_job_tables(connection) and connection.execute(statement).rowcount:
                return
        raise JobError(f"nobody runs {name.job} of {name.table} now: see `noisevault jobs list`")

    def all(self) -> list[Mapping[str, Any]]:
        """Every job that was ever begun on this database, by name; what is done in parts is summed up under it."""
        with self.engine.connect() as connection:
            if not has_job_tables(connection):
                return []
            is_part = and_(PART.job == JOB.job, PART.table_name == JOB.table_name, PART.part == JOB.part)
            found = select(job_table_of_jobs, PART.part.is_not(None).label("is_part"))
            statement = found.outerjoin_from(job_table_of_jobs, part_table, is_part)
            statement = statement.order_by(JOB.job, JOB.table_name, JOB.part)
            return _summed_up(connection.execute(statement).mappings().all())

    def _row(self, name: JobName) -> RowMapping | None:
        with self.engine.connect() as connection:
            return connection.execute(select(job_table_of_jobs).where(name.is_row())).mappings().first()

    def _insert(self, name: JobName, goal: str, total: int, run: str, mark: str) -> bool:
        row = {"job": name.job, "table_name": name.table, "part": name.part, "goal": goal, "run": run, "mark": mark}
        state = {"state": JobState.RUNNING.value, "wish": JobWish.RUN.value, "beat": 0, "number": 1, "total": total}
        zero = dict.fromkeys(("seen", "missed", "failed", "rewritten"), 0)
        times = {"begun_at": self._time(), "changed_at": self._time()}
        try:
            with short_transaction(self.engine, LOCK_SECONDS) as connection:
                connection.execute(insert(job_table_of_jobs).values(row | state | zero | times))
        except IntegrityError:
            return False
        return True

    def _watch(self, name: JobName, found: RowMapping, silence: float) -> None:
        end = self._clock() + silence
        while self._clock() < end:
            self._sleep(LOOK_SECONDS)
            now = self._row(name)
            if now is None or not is_held(now["state"]):
                return
            if (now["run"], now["beat"]) != (found["run"], found["beat"]):
                raise JobRunningError(name.job, name.table)

    def _take_over(self, found: RowMapping, taken: Taken, goal: str, total: int) -> bool:
        as_found = [taken.name.is_row(), JOB.run == found["run"], JOB.beat == found["beat"]]
        values: dict[str, Any] = {"run": taken.run, "goal": goal, "state": JobState.RUNNING.value}
        values |= {"wish": JobWish.RUN.value, "beat": JOB.beat + 1, "changed_at": self._time()}
        if not taken.resumed:
            values |= {"mark": taken.mark, "number": 1, "done_up_to": None, "total": total, "begun_at": self._time()}
            values |= dict.fromkeys(("seen", "missed", "failed", "rewritten"), 0)
        with short_transaction(self.engine, LOCK_SECONDS) as connection:
            return connection.execute(update(job_table_of_jobs).where(*as_found).values(values)).rowcount == 1

    def _update(self, connection: Connection, taken: Taken, **values: Any) -> None:
        ours = update(job_table_of_jobs).where(taken.name.is_row(), JOB.run == taken.run)
        changed = connection.execute(ours.values(beat=JOB.beat + 1, changed_at=self._time(), **values))
        if changed.rowcount != 1:
            raise JobRunningError(taken.name.job, taken.name.table)

    def _time(self) -> str:
        return self._now().isoformat(timespec="microseconds")


def _summed_up(rows: Sequence[RowMapping]) -> list[Mapping[str, Any]]:
    """Parts of the pass that a job is at are added to it; no part is shown by itself."""
    jobs: dict[tuple[str, str], dict[str, Any]] = {}
    shown: list[dict[str, Any]] = []
    for row in rows:
        if not row["is_part"]:
            shown.append({name: value for name, value in row.items() if name != "is_part"})
        if row["part"] == WHOLE_TABLE:
            jobs[row["job"], row["table_name"]] = shown[-1]
    for row in rows:
        job = jobs.get((row["job"], row["table_name"]))
        if row["is_part"] and job is not None and job["mark"] == row["mark"]:
            job.update({name: job[name] + row[name] for name in COUNTS})
            job["changed_at"] = max(job["changed_at"], row["changed_at"])
    return list(shown)


def _added(counts: Mapping[str, int]) -> dict[str, Any]:
    return {name: job_table_of_jobs.c[name] + n for name, n in counts.items()}


def _from_checkpoint(name: JobName, run: str, found: RowMapping, goal: str, mark: str | None) -> Taken:
    """Of another goal, or of a job that ended, nothing is used; of a part nothing that is of another pass."""
    ended = found["state"] in {JobState.COMPLETE, JobState.INCOMPLETE}
    if (ended if mark is None else found["mark"] != mark) or found["goal"] != goal:
        return Taken(name, run, mark or run)
    text = found["done_up_to"]
    try:
        done_up_to = None if text is None else read_key(text)
    except (ValueError, TypeError, KeyError, AttributeError):
        return Taken(name, run, mark or run)  # changed by hand: the state of the work is the data, so it is begun anew
    counts = (found["seen"], found["missed"], found["failed"]) if done_up_to is not None else (0, 0, 0)
    return Taken(name, run, found["mark"], found["number"], done_up_to, *counts)
