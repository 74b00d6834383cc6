"""Engine: runs the work of a job over a range of keys: read a page, renew it, write it, note how far; then prove it.

The state of the work is the data itself, so a run may be killed anywhere and started again. While a batch is written
over a second connection, the next page is read and sealed; SQLite, which has one writer, takes turns.
"""

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from sqlalchemy import Connection, Engine, RowMapping, Table, func, select

from vault.jobs import quarantine
from vault.jobs.batch import CommitsBatches
from vault.jobs.change import Key
from vault.jobs.compared import compared_table
from vault.jobs.events import Began, Ended, Event, Held, Proved, RowFailed, RowLeft, Waiting
from vault.jobs.heart import Heart
from vault.jobs.held_job import let_go_of_when_it_fails
from vault.jobs.job_settings import JobSettings
from vault.jobs.job_store import JobName, JobState, JobStore, Taken
from vault.jobs.left_rows import MOVING, LeftRow, count_left_rows, left_rows
from vault.jobs.one_pass import Pass, PassResult
from vault.jobs.outage import Outage
from vault.jobs.pace import Pace
from vault.jobs.parts import forget_parts
from vault.jobs.proof import Proof, prove
from vault.jobs.quarantine import shown_key
from vault.jobs.shared_job import SharesPasses
from vault.jobs.short_transaction import short_transaction
from vault.jobs.tally import Tally
from vault.jobs.walking.key_pages import within
from vault.jobs.walking.key_range import WHOLE, KeyRange
from vault.jobs.walking.keys_there import keys_there
from vault.jobs.walking.stored_key import key_kind
from vault.jobs.work import BatchWriter, Leased, OverlooksRows, Work
from vault.jobs.writing.choice import batch_writer

__all__ = ["Job"]

LOOK_SECONDS: Final = 0.2


def _nobody(_event: Event) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Job:
    """One run of a work over a key range. stop: to be set, by whoever wants it to end after the batch in hand.

    shared: who does the passes instead of this process; of a whole table only.
    """

    work: Work
    engine: Engine
    settings: JobSettings = JobSettings()
    key_range: KeyRange = WHOLE
    notify: Callable[[Event], None] = _nobody
    stop: threading.Event = field(default_factory=threading.Event)
    clock: Callable[[], float] = time.monotonic
    shared: SharesPasses | None = None

    def run(self) -> Tally:
        """Until a pass misses no row and the proof finds none left, at most `passes` times.

        Raises: JobRunningError when another run of the job lives; JobTablesError; JobError when the database or the
        key service stays away; KmsError; DefinitionError for a table without a primary key.
        """
        outage = self.outage()
        outage.outlast(self._writer)  # refuses what cannot be written, before a job is begun
        store = JobStore(self.engine)
        outage.outlast(store.create)
        outage.outlast(self.work.refresh)
        total = outage.outlast(self._count)
        name = JobName.of(self.work.name, self.work.table.fullname, self.key_range)
        taken = outage.outlast(lambda: store.take(name, self._goal(), total, self.settings.silence))
        with let_go_of_when_it_fails(store, taken):
            with Heart(store, taken, self.settings.beat, self.stop) as heart:
                begun = outage.outlast(lambda: self._begun(store, taken))
                self.notify(Began(name.job, name.table, total, begun.resumed, begun.number, begun.seen))
                tally = self._passes(store, begun, heart, total)
            outage.outlast(lambda: store.tell(taken, tally.outcome))
        self._ended(tally)
        return tally

    @property
    def table(self) -> Table:
        return self.work.table

    def told_failed(self, row: RowMapping) -> RowFailed:
        """What is told of an entry of the quarantine."""
        return RowFailed(row["job"], row["table_name"], row["row_key"], row["column_name"], row["reason"])

    def refreshed_goal(self) -> str:
        """What the rows would be brought to, if it began now. Raises: JobError, KmsError."""
        self.outage().outlast(self.work.refresh)
        return self.work.goal

    def run_part(self, store: JobStore, name: JobName, mark: str, total: int) -> PassResult:
        """The key range as a part of another run's pass, which bears the mark and proves the whole at its end.

        store: that knows the other run. total: rows that the range is thought to have.
        Raises: JobRunningError when that run is over, or has given the part to another; JobError; KmsError.
        """
        outage = self.outage()
        taken = outage.outlast(lambda: store.take(name, mark, total, 0.0, mark))
        began = self.clock()
        with let_go_of_when_it_fails(store, taken):
            with Heart(store, taken, self.settings.beat, self.stop) as heart:
                result = self.pass_alone(store, taken, heart, total)
                rate = self.settings.pace.rows_per_second
                if rate is not None:  # of the last batch too: the next part begins at once
                    heart.rest(max(0.0, result.rewritten / rate - (self.clock() - began)))
            outage.outlast(lambda: store.tell(taken, JobState.STOPPED if result.stopped else JobState.COMPLETE))
        return result

    def rehearse(self) -> Tally:
        """Read and open, write nothing at all: `rewritten` is what a run would rewrite. Raises: as run."""
        self.outage().outlast(self.work.refresh)
        total = self.outage().outlast(self._count)
        name = JobName(self.work.name, self.work.table.fullname)
        self.notify(Began(name.job, name.table, total, dry_run=True))
        result = Pass(self.work, self.engine, self.key_range, self.outage(), self.notify, self.clock).rehearse(
            Pace.begin(self.settings.pace), total, self.stop
        )
        outcome = JobState.STOPPED if result.stopped else JobState.INCOMPLETE if result.failed else JobState.COMPLETE
        tally = Tally(name.job, name.table, result.rewritten, 0, result.failed, outcome=outcome)
        self._ended(tally)
        return tally

    def _passes(self, store: JobStore, taken: Taken, heart: Heart, total: int) -> Tally:
        tally = Tally(taken.name.job, taken.name.table)
        last = taken.number + self.settings.passes - 1
        while True:
            result = self._pass_or_share(store, taken, heart, total)
            if not result.stopped:
                self.outage().outlast(lambda: self._let_go(store, taken))  # noqa: B023  # called at once
            tally = replace(
                tally,
                rewritten=tally.rewritten + result.rewritten,
                changed_meanwhile=tally.changed_meanwhile + result.missed - taken.missed,
                failed=result.failed,
            )
            if result.stopped:
                return replace(tally, outcome=JobState.STOPPED)
            if taken.number >= last or not result.missed:
                tally = self._proved(tally, heart)
                if result.missed or taken.done_up_to is not None or (self.shared is not None and taken.seen):
                    tally = self._looked(tally, heart)
                if heart.is_stopping() and tally.outcome is not JobState.COMPLETE:
                    return replace(tally, outcome=JobState.STOPPED)
                if taken.number >= last or not tally.remaining:
                    return self._with_left(tally, heart)
            heart.rest(min(LOOK_SECONDS * taken.number, 1.0))  # whoever holds a row may let it go
            taken, total = self._next(store, taken)

    def _begun(self, store: JobStore, taken: Taken) -> Taken:
        if self.shared is not None:
            return self.shared.begun(store, taken)
        if self.key_range.is_whole:
            forget_parts(store, taken)
        return taken

    def _pass_or_share(self, store: JobStore, taken: Taken, heart: Heart, total: int) -> PassResult:
        if self.shared is None:
            return self.pass_alone(store, taken, heart, total)
        return self.shared.run(self, store, taken, heart, total)

    def pass_alone(self, store: JobStore, taken: Taken, heart: Heart, total: int) -> PassResult:
        commits = CommitsBatches(
            self.engine,
            store,
            self.outage().outlast(self._writer),
            list(self.work.sets),
            self.outage(),
            self.settings.tries,
            self.settings.lock_seconds,
        )
        one = Pass(self.work, self.engine, self.key_range, self.outage(), self.notify, self.clock)
        return one.run(
            taken, commits, heart, Pace.begin(self.settings.pace), total, lambda: self.hold(store, taken, heart)
        )

    def _writer(self) -> BatchWriter:
        with self.engine.connect() as connection:
            work = self.work
            compared = compared_table(work.table, work.compares, self.engine.dialect.name)
            return batch_writer(connection, work.table, work.compares, work.sets, compared=compared)

    def _let_go(self, store: JobStore, taken: Taken) -> None:
        with short_transaction(self.engine, self.settings.lock_seconds) as connection:
            store.require(connection, taken)  # a run that slept must not take out what another has listed
            elsewhere = None if self.key_range.is_whole else self._elsewhere(connection)
            quarantine.let_go(connection, taken.name.job, taken.name.table, taken.mark, elsewhere)

    def _elsewhere(self, connection: Connection) -> Callable[[Sequence[Key]], set[Key]]:
        """Of some keys, those of rows that are in the table, and not in the range."""
        table = self.work.table
        return lambda keys: keys_there(connection, table, keys) - keys_there(connection, table, keys, self.key_range)

    def _next(self, store: JobStore, taken: Taken) -> tuple[Taken, int]:
        """Begin the next pass."""
        outage = self.outage()
        outage.outlast(self.work.refresh)
        total = outage.outlast(self._count)
        number = taken.number + 1
        following = Taken(taken.name, taken.run, f"{taken.run[:24]}-{number}", number)
        outage.outlast(lambda: store.begin_pass(following, self._goal(), total))
        return following, total

    def _proved(self, tally: Tally, heart: Heart) -> Tally:
        """Count what is left; if asked to, only when no service can write as before any more."""
        outage = self.outage()
        outage.outlast(self.work.refresh)
        unsafe = self.work.unsafe_seconds() if isinstance(self.work, Leased) else 0.0
        if self.settings.after_lease and unsafe > 0:
            self.notify(Waiting(tally.job, tally.table, "services may seal by the older key until then", unsafe))
            end = self.clock() + unsafe
            while self.clock() < end and not heart.is_stopping():
                heart.rest(min(LOOK_SECONDS, max(0.0, end - self.clock())))
            unsafe = max(0.0, end - self.clock())
        proof: Proof = outage.outlast(lambda: prove(self.engine, self.work, self.key_range))
        remaining = max(0, proof.remaining - tally.failed)
        self.notify(Proved(tally.job, tally.table, proof.remaining, tally.failed, proof.reasons))
        outcome = JobState.INCOMPLETE if proof.remaining or tally.failed else JobState.COMPLETE
        return replace(tally, remaining=remaining, why=proof.reasons, outcome=outcome, unsafe_seconds=unsafe)

    def _with_left(self, tally: Tally, heart: Heart) -> Tally:
        """Name some of the rows that are left. If none is there any more, somebody has done them: count once more."""
        if not tally.remaining:
            return tally
        found = self._left(heart)
        if not found and not heart.is_stopping():
            tally = self._looked(self._proved(tally, heart), heart)
            found = self._left(heart) if tally.remaining else []
        for row in found:
            self.notify(RowLeft(tally.job, tally.table, shown_key(row.key), row.reason))
        reasons = Counter(row.reason for row in found) or Counter({MOVING: tally.remaining} if tally.remaining else {})
        return replace(tally, left=tuple(reasons.most_common()))

    def _left(self, heart: Heart) -> list[LeftRow]:
        return self.outage().outlast(lambda: left_rows(self.engine, self.work, self.key_range, heart.is_stopping))

    def _looked(self, tally: Tally, heart: Heart) -> Tally:
        """Of rows that the last pass missed, or left to its checkpoint, some proofs cannot tell if they are done."""
        work = self.work
        if tally.remaining or not (isinstance(work, OverlooksRows) and work.may_overlook()):
            return tally
        left = self.outage().outlast(lambda: count_left_rows(self.engine, work, self.key_range, heart.is_stopping))
        if not left and not heart.is_stopping():
            return tally
        return replace(tally, remaining=left, outcome=JobState.INCOMPLETE)

    def hold(self, store: JobStore, taken: Taken, heart: Heart) -> None:
        """Do nothing for as long as an operator wishes it."""
        if not heart.is_paused():
            return
        self.notify(Held(taken.name.job, taken.name.table, paused=True))
        self.outage().outlast(lambda: store.tell(taken, JobState.PAUSED))
        while True:
            heart.rest(LOOK_SECONDS)
            if not heart.is_paused():
                break
        self.outage().outlast(lambda: store.tell(taken, JobState.RUNNING))
        self.notify(Held(taken.name.job, taken.name.table, paused=False))

    def _goal(self) -> str:
        """Of the work, by the table's key of today, which a migration may have made another."""
        return hashlib.sha256(f"{self.work.goal}\n{key_kind(self.work.table)}".encode()).hexdigest()

    def _count(self) -> int:
        table = self.work.table
        conditions = within(table, self.key_range, self.engine.dialect.name)
        with self.engine.connect() as connection:
            return connection.scalar(select(func.count()).select_from(table).where(*conditions)) or 0

    def outage(self) -> Outage:
        def told(reason: str, seconds: float) -> None:
            self.notify(Waiting(self.work.name, self.work.table.fullname, reason, seconds))

        return Outage(self.settings.patience, told, self.stop.is_set, table=self.work.table.fullname)

    def _ended(self, tally: Tally) -> None:
        counts = (tally.rewritten, tally.changed_meanwhile, tally.failed, tally.remaining)
        self.notify(Ended(tally.job, tally.table, tally.outcome.value, *counts, tally.unsafe_seconds))
