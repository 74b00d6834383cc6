"""Verify: opens every value of a table, recomputes every index term, and tells each row that fails; it changes none.

It walks in key order, a short read at a time. A row that fails is read and checked once more, by what the key store
says then, before it is told: so neither a service's write nor another process's rotation is a false alarm.
"""

import hashlib
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from sqlalchemy import Engine, RowMapping, Table, func, select

from vault.jobs import quarantine
from vault.jobs.change import Key
from vault.jobs.events import Advanced, Began, Event, Held, RowWrong, Verified, Waiting
from vault.jobs.heart import Heart
from vault.jobs.held_job import let_go_of_when_it_fails
from vault.jobs.job_store import JobName, JobState, JobStore, Taken
from vault.jobs.one_pass import PassResult
from vault.jobs.outage import Outage
from vault.jobs.pace import Pace, PaceSettings
from vault.jobs.parts import forget_parts
from vault.jobs.quarantine import shown_key
from vault.jobs.shared_job import SharesPasses
from vault.jobs.verifying.finding import Finding
from vault.jobs.verifying.page import InOrder, OfKeys, Page, read_rows
from vault.jobs.verifying.row_check import RowCheck
from vault.jobs.verifying.sampling import is_picked, picked_keys
from vault.jobs.verifying.verify_record import Kept, NotKept, VerifyRecord
from vault.jobs.walking.key_range import WHOLE, KeyRange
from vault.sample_size import Sample

__all__ = ["JOB", "Verify", "VerifySettings", "VerifyTally"]

JOB: Final = "verify"
LOOK_SECONDS: Final = 0.2
# Ours: rows that are looked at a second time by one statement.
ROWS_AGAIN: Final = 100
# Ours: rows of the first page where an argon2id index is recomputed, at 20 to 50 ms a term.
FIRST_SLOW_ROWS: Final = 10


@dataclass(frozen=True, slots=True)
class VerifySettings:
    """pace: of rows that are read. sample: instead of all rows. patience: how many seconds an outage may last.

    keep: write progress and rows that fail into the data's database; a sample keeps no progress and never does.
    anew: from the beginning, whatever was done before. beat, silence, lock_seconds: as JobSettings.
    """

    pace: PaceSettings = field(default_factory=PaceSettings)
    sample: Sample | None = None
    keep: bool = True
    anew: bool = False
    patience: float = 120.0
    beat: float = 1.0
    silence: float = 10.0
    lock_seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class VerifyTally:
    """seen, failed: rows, those of a resumed run's earlier part too. faults: column, kind and number, of this run."""

    table: str
    seen: int
    failed: int
    faults: tuple[tuple[str, str, int], ...]
    outcome: JobState


def _nobody(_event: Event) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Verify:
    """One run over a table. stop: to be set, by whoever wants it to end after the page in hand.

    shared: who looks at the rows instead of this process, where progress is kept.
    """

    check: RowCheck
    engine: Engine
    settings: VerifySettings = VerifySettings()
    notify: Callable[[Event], None] = _nobody
    stop: threading.Event = field(default_factory=threading.Event)
    clock: Callable[[], float] = time.monotonic
    key_range: KeyRange = WHOLE
    shared: SharesPasses | None = None

    def run(self) -> VerifyTally:
        """Raises: JobRunningError when another run lives; JobTablesError; JobError when the database or the key service
        stays away; KmsError.
        """
        outage = self.outage()
        outage.outlast(self.check.refresh)
        total = outage.outlast(self._count)
        record = self._record(total)
        if self.shared is not None and isinstance(record, Kept):
            tally = self._walk_by_others(self.shared, record, total)
        else:
            if isinstance(record, Kept):
                forget_parts(record.store, record.taken)
            self._began(record.taken, total)
            with record.alive(self.settings.beat, self.stop) as heart:
                tally = self._walk(record, heart, total)
        record.end(tally.outcome, saw_all=tally.outcome is not JobState.STOPPED)
        self.notify(Verified(JOB, self._table, tally.outcome.value, tally.seen, tally.failed, tally.faults))
        return tally

    def run_part(self, store: JobStore, name: JobName, mark: str, total: int) -> PassResult:
        """The key range as a part of another run, which bears the mark. As Job.run_part."""
        began, taken = self.clock(), self.outage().outlast(lambda: store.take(name, mark, total, 0.0, mark))
        record = self._kept(store, taken)
        with let_go_of_when_it_fails(store, record.taken):
            with record.alive(self.settings.beat, self.stop) as heart:
                tally = self._walk(record, heart, total)
                rate = self.settings.pace.rows_per_second
                if rate is not None:
                    heart.rest(max(0.0, (tally.seen - record.taken.seen) / rate - (self.clock() - began)))
            stopped = tally.outcome is JobState.STOPPED
            record.end(JobState.STOPPED if stopped else JobState.COMPLETE, saw_all=False)
        return PassResult(tally.seen, 0, 0, tally.failed, stopped)

    @property
    def table(self) -> Table:
        return self.check.table

    def refreshed_goal(self) -> str:
        """What rows are checked by, now. Raises: JobError, KmsError."""
        self.outage().outlast(self.check.refresh)
        return hashlib.sha256(self.check.goal.encode()).hexdigest()

    def told_failed(self, row: RowMapping) -> RowWrong:
        """What is told of an entry of the quarantine, whose reason begins with the kind."""
        kind, _, reason = row["reason"].partition(": ")
        return RowWrong(JOB, self._table, row["row_key"], row["column_name"], kind, reason)

    def hold(self, store: JobStore, taken: Taken, heart: Heart) -> None:
        """Do nothing for as long as an operator wishes it."""
        if not heart.is_paused():
            return
        self.notify(Held(JOB, self._table, paused=True))
        self.outage().outlast(lambda: store.tell(taken, JobState.PAUSED))
        while heart.is_paused():
            heart.rest(LOOK_SECONDS)
        self.outage().outlast(lambda: store.tell(taken, JobState.RUNNING))
        self.notify(Held(JOB, self._table, paused=False))

    def pass_alone(self, store: JobStore, taken: Taken, heart: Heart, total: int) -> PassResult:
        """All rows, in this process after all."""
        record = self._kept(store, taken)
        tally = self._walk(record, heart, total)
        record.flush()
        return PassResult(tally.seen, 0, 0, tally.failed, tally.outcome is JobState.STOPPED)

    def _walk_by_others(self, shared: SharesPasses, record: Kept, total: int) -> VerifyTally:
        store = record.store
        with let_go_of_when_it_fails(store, record.taken), record.alive(self.settings.beat, self.stop) as heart:
            taken = self.outage().outlast(lambda: shared.begun(store, record.taken))
            self._began(taken, total)
            result = shared.run(self, store, taken, heart, total)
            faults = self.outage().outlast(lambda: self._faults(taken))
        outcome = JobState.INCOMPLETE if result.failed else JobState.COMPLETE
        return self._tally(result.seen, result.failed, faults, JobState.STOPPED if result.stopped else outcome)

    def _faults(self, taken: Taken) -> Counter[tuple[str, str]]:
        with self.engine.connect() as connection:
            rows = quarantine.of_pass(connection, JOB, self._table, taken.mark)
            return Counter((row["column_name"], self.told_failed(row).kind) for row in rows)

    def _began(self, taken: Taken, total: int) -> None:
        self.notify(Began(JOB, self._table, total, taken.resumed, taken.number, taken.seen))

    def _walk(self, record: VerifyRecord, heart: Heart | None, total: int) -> VerifyTally:
        pages = self._pages(record.taken.done_up_to)
        seen_before = seen = record.taken.seen
        failed, faults, began = record.taken.failed, Counter[tuple[str, str]](), self.clock()
        pace = self._first_pace()
        while not pages.ended:
            if heart is not None and isinstance(record, Kept):
                self.hold(record.store, record.taken, heart)
            if self.stop.is_set() or (heart is not None and heart.is_stopping()):
                return self._tally(seen, failed, faults, JobState.STOPPED)
            read_at, asked = self.clock(), pace.rows
            page = self.outage().outlast(lambda: pages.take(asked))  # noqa: B023  # called at once
            findings = self._looked_at(page)
            seen += len(page)
            failed += len({one.key for one in findings})
            faults.update((one.column, one.kind.value) for one in findings)
            for one in findings:
                self.notify(RowWrong(JOB, self._table, shown_key(one.key), one.column, one.kind.value, one.reason))
            if page.keys:
                record.advance(page.keys[-1], len(page), findings, at_once=pages.ended)
                self._advanced(seen, max(total, seen), failed, seen - seen_before, self.clock() - began)
            pace = pace.after(len(page), self.clock() - read_at, len(page), self.clock())
            self.stop.wait(pace.rest(self.clock()))
        return self._tally(seen, failed, faults, JobState.INCOMPLETE if failed else JobState.COMPLETE)

    def _looked_at(self, page: Page) -> Sequence[Finding]:
        """What is wrong with a page, at the second look."""
        outage, check = self.outage(), self.check
        first = outage.outlast(lambda: check.check(page)) if page.keys else []
        if not first:
            return first
        keys = list(dict.fromkeys(one.key for one in first))
        outage.outlast(check.refresh)
        found: list[Finding] = []
        for start in range(0, len(keys), ROWS_AGAIN):
            some = keys[start : start + ROWS_AGAIN]
            found += outage.outlast(lambda: check.check(read_rows(self.engine, check.table, check.reads, some)))  # noqa: B023
        return found

    def _pages(self, after: Key | None) -> "InOrder | OfKeys":
        at = self.key_range if after is None else replace(self.key_range, after=after)
        sample, place = self.settings.sample, (self.engine, self.check.table, self.check.reads)
        if sample is not None and sample.rows is not None:
            rows = sample.rows
            return OfKeys(*place, self.outage().outlast(lambda: picked_keys(self.engine, self.check.table, rows)))
        if sample is not None and sample.share is not None:
            return InOrder(*place, at, (is_picked(sample.share, self.engine.dialect.name),))
        return InOrder(*place, at)

    def _record(self, total: int) -> VerifyRecord:
        name = JobName(JOB, self._table)
        if self.settings.sample is not None or not self.settings.keep:
            return NotKept(name)
        goal = hashlib.sha256(self.check.goal.encode()).hexdigest()
        if self.settings.anew:
            goal = secrets.token_hex(32)
        store, outage = JobStore(self.engine), self.outage()
        outage.outlast(store.create)
        return self._kept(store, outage.outlast(lambda: store.take(name, goal, total, self.settings.silence)))

    def _kept(self, store: JobStore, taken: Taken) -> Kept:
        return Kept(store, taken, self.outage(), lock_seconds=self.settings.lock_seconds, clock=self.clock)

    def _first_pace(self) -> Pace:
        pace = Pace.begin(self.settings.pace)
        return replace(pace, rows=min(pace.rows, FIRST_SLOW_ROWS)) if self.check.slow else pace

    def _advanced(self, seen: int, total: int, failed: int, done: int, seconds: float) -> None:
        rate = done / max(seconds, 1e-9)
        left = round((total - seen) / rate, 1) if rate else None
        self.notify(Advanced(JOB, self._table, 1, seen, total, 0, 0, failed, round(rate, 1), left))

    def _count(self) -> int:
        """How many rows there are to look at, about."""
        with self.engine.connect() as connection:
            rows = connection.scalar(select(func.count()).select_from(self.check.table)) or 0
        sample = self.settings.sample
        if sample is None:
            return rows
        return min(rows, sample.rows) if sample.rows is not None else round(rows * (sample.share or 0))

    @property
    def _table(self) -> str:
        return self.check.table.fullname

    def _tally(self, seen: int, failed: int, faults: Counter[tuple[str, str]], outcome: JobState) -> VerifyTally:
        counted = tuple((column, kind, number) for (column, kind), number in sorted(faults.items()))
        return VerifyTally(self._table, seen, failed, counted, outcome)

    def outage(self) -> Outage:
        def told(reason: str, seconds: float) -> None:
            self.notify(Waiting(JOB, self._table, reason, seconds))

        return Outage(self.settings.patience, told, self.stop.is_set)
