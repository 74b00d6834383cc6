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

from sqlalchemy import Engine, func, select

from vault.jobs.change import Key
from vault.jobs.events import Advanced, Began, Event, Held, RowWrong, Verified, Waiting
from vault.jobs.heart import Heart
from vault.jobs.job_store import JobName, JobState
from vault.jobs.outage import Outage
from vault.jobs.pace import Pace, PaceSettings
from vault.jobs.quarantine import shown_key
from vault.jobs.verifying.finding import Finding
from vault.jobs.verifying.page import InOrder, OfKeys, Page, read_rows
from vault.jobs.verifying.row_check import RowCheck
from vault.jobs.verifying.sampling import Sample, is_picked, picked_keys
from vault.jobs.verifying.verify_record import Kept, NotKept, VerifyRecord

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
    """One run over a table. stop: to be set, by whoever wants it to end after the page in hand."""

    check: RowCheck
    engine: Engine
    settings: VerifySettings = VerifySettings()
    notify: Callable[[Event], None] = _nobody
    stop: threading.Event = field(default_factory=threading.Event)
    clock: Callable[[], float] = time.monotonic

    def run(self) -> VerifyTally:
        """Raises: JobRunningError when another run lives; JobTablesError; JobError when the database or the key service
        stays away; KmsError.
        """
        outage = self._outage()
        outage.outlast(self.check.refresh)
        total = outage.outlast(self._count)
        record = self._record(total)
        taken = record.taken
        self.notify(Began(JOB, self._table, total, taken.resumed, taken.number, taken.seen))
        with record.alive(self.settings.beat, self.stop) as heart:
            tally = self._walk(record, heart, total)
        record.end(tally.outcome, saw_all=tally.outcome is not JobState.STOPPED)
        self.notify(Verified(JOB, self._table, tally.outcome.value, tally.seen, tally.failed, tally.faults))
        return tally

    def _walk(self, record: VerifyRecord, heart: Heart | None, total: int) -> VerifyTally:
        pages = self._pages(record.taken.done_up_to)
        seen_before = seen = record.taken.seen
        failed, faults, began = record.taken.failed, Counter[tuple[str, str]](), self.clock()
        pace = self._first_pace()
        while not pages.ended:
            self._hold(record, heart)
            if self.stop.is_set() or (heart is not None and heart.is_stopping()):
                return self._tally(seen, failed, faults, JobState.STOPPED)
            read_at, asked = self.clock(), pace.rows
            page = self._outage().outlast(lambda: pages.take(asked))  # noqa: B023  # called at once
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
        outage, check = self._outage(), self.check
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
        sample, place = self.settings.sample, (self.engine, self.check.table, self.check.reads)
        if sample is not None and sample.rows is not None:
            rows = sample.rows
            return OfKeys(*place, self._outage().outlast(lambda: picked_keys(self.engine, self.check.table, rows)))
        if sample is not None and sample.share is not None:
            return InOrder(*place, after, (is_picked(sample.share, self.engine.dialect.name),))
        return InOrder(*place, after)

    def _record(self, total: int) -> VerifyRecord:
        name = JobName(JOB, self._table)
        if self.settings.sample is not None or not self.settings.keep:
            return NotKept(name)
        goal = hashlib.sha256(self.check.goal.encode()).hexdigest()
        if self.settings.anew:
            goal = secrets.token_hex(32)
        outlasting = {"silence": self.settings.silence, "lock_seconds": self.settings.lock_seconds}
        return Kept(self.engine, self._outage(), name, goal, total, clock=self.clock, **outlasting)

    def _first_pace(self) -> Pace:
        pace = Pace.begin(self.settings.pace)
        return replace(pace, rows=min(pace.rows, FIRST_SLOW_ROWS)) if self.check.slow else pace

    def _hold(self, record: VerifyRecord, heart: Heart | None) -> None:
        """Do nothing for as long as an operator wishes."""
        if heart is None or not heart.is_paused():
            return
        self.notify(Held(JOB, self._table, paused=True))
        record.paused(paused=True)
        while heart.is_paused():
            heart.rest(LOOK_SECONDS)
        record.paused(paused=False)
        self.notify(Held(JOB, self._table, paused=False))

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

    def _outage(self) -> Outage:
        def told(reason: str, seconds: float) -> None:
            self.notify(Waiting(JOB, self._table, reason, seconds))

        return Outage(self.settings.patience, told, self.stop.is_set)
