"""One pass: every row of a range once, in key order: pages are read and renewed while the batch before is written."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import Engine, Select

from vault.errors import DefinitionError
from vault.jobs.batch import Batch, CommitsBatches, Committed
from vault.jobs.change import Change, Failed
from vault.jobs.compared import compared_columns, with_what_was_read
from vault.jobs.events import Advanced, Event, RowFailed
from vault.jobs.heart import Heart
from vault.jobs.job_store import Taken
from vault.jobs.outage import Outage
from vault.jobs.pace import Pace
from vault.jobs.quarantine import shown_key
from vault.jobs.walking.key_pages import keys_of, page_statement
from vault.jobs.walking.key_range import KeyRange
from vault.jobs.walking.readable_page import ReadablePage, read_page
from vault.jobs.work import Rehearses, Work

__all__ = ["Pass", "PassResult"]

# Ours: pages without anything to write move the checkpoint no more often than so many seconds.
CHECKPOINT_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class PassResult:
    """In rows. seen, missed and failed also of a resumed pass's earlier part; rewritten of this run alone."""

    seen: int
    rewritten: int
    missed: int
    failed: int
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Pass:
    """Reads the rows of a range for a work."""

    work: Work
    engine: Engine
    key_range: KeyRange
    outage: Outage
    notify: Callable[[Event], None]
    clock: Callable[[], float]

    def run(
        self, taken: Taken, commits: CommitsBatches, heart: Heart, pace: Pace, total: int, hold: Callable[[], None]
    ) -> PassResult:
        """From the checkpoint to the end, or until the run is to stop. hold: called between batches; may wait."""
        at = self.key_range if taken.done_up_to is None else replace(self.key_range, after=taken.done_up_to)
        result = PassResult(taken.seen, 0, taken.missed, taken.failed)
        told = _Progress(self, taken.number, total, taken.seen, self.clock())
        pending: _Pending | None = None
        noted, idle = self.clock(), 0
        with _second_thread(self.engine) as threads:
            while True:
                hold()
                if heart.is_stopping():
                    result = replace(result, stopped=True)
                    break
                began, asked = self.clock(), pace.rows
                page = self._read(at, asked)
                changes, failed = self._renew(page)
                reading = self.clock() - began
                if pending is not None:
                    result, pace = self._settled(pending, result, pace)
                    told.advanced(result)
                    pending = None
                if page.length:
                    at = self._after(at, page)
                    idle += page.length
                if changes or failed or (idle and (page.length < asked or self.clock() - noted > CHECKPOINT_SECONDS)):
                    heart.rest(pace.rest(self.clock()))
                    batch = Batch(idle, at.after or (), changes, failed)
                    pending = _Pending(batch, page.length, reading, threads.submit(commits.commit, taken, batch))
                    noted, idle = self.clock(), 0
                elif page.length:
                    pace = pace.after(page.length, reading, 0, self.clock())
                    told.advanced(replace(result, seen=result.seen + idle))
                if page.length < asked:
                    break
            if pending is not None:
                result, pace = self._settled(pending, result, pace)
                told.advanced(result)
        return result

    def rehearse(self, pace: Pace, total: int, stop: threading.Event) -> PassResult:
        """As run, without writing anything: `rewritten` is what would be."""
        at, result = self.key_range, PassResult(0, 0, 0, 0)
        told = _Progress(self, 1, total, 0, self.clock())
        while True:
            if stop.is_set():
                return replace(result, stopped=True)
            began, asked = self.clock(), pace.rows
            page = self._read(at, asked)
            if page.length:
                at = self._after(at, page)
                due, failed = self._rehearsed(page)
                self._tell_failed(failed)
                result = PassResult(
                    result.seen + page.length,
                    result.rewritten + due,
                    0,
                    result.failed + len({one.key for one in failed}),
                )
                stop.wait(pace.rest(self.clock()))
                pace = pace.after(page.length, self.clock() - began, page.length, self.clock())
                told.advanced(result)
            if page.length < asked:
                return result

    def _read(self, at: KeyRange, rows: int) -> ReadablePage:
        table, dialect = self.work.table, self.engine.dialect.name

        def statement(part: KeyRange, most: int, reads: Sequence[str]) -> Select[Any]:
            as_stored = compared_columns(table, [name for name in self.work.compares if name in reads], dialect)
            return page_statement(table, reads, part, most, dialect, as_stored)

        reads = list(self.work.reads)
        return self.outage.outlast(
            lambda: read_page(self.engine, lambda found: keys_of(table, found), statement, reads, at, rows)
        )

    def _after(self, at: KeyRange, page: ReadablePage) -> KeyRange:
        """Raises: DefinitionError where the page ends as the one before: it would be read for ever."""
        last = page.last
        if last == at.after:
            raise DefinitionError(
                f"{self.work.table.fullname} cannot be walked: its database does not order the primary key as it"
                " compares it; look at the key's type and collation"
            )
        return replace(at, after=last)

    def _renew(self, page: ReadablePage) -> tuple[Sequence[Change], list[Failed]]:
        if not page.rows:
            return [], page.failed
        changes, failed = self.outage.outlast(lambda: self.work.renew(page.rows))
        return with_what_was_read(changes, self.work.table, self.work.compares, page.rows), [*failed, *page.failed]

    def _rehearsed(self, page: ReadablePage) -> tuple[int, list[Failed]]:
        work = self.work
        if isinstance(work, Rehearses):
            due, failed = self.outage.outlast(lambda: work.rehearse(page.rows))
            return due, [*failed, *page.failed]
        changes, failed = self._renew(page)
        return len(changes), failed

    def _settled(self, pending: "_Pending", result: PassResult, pace: Pace) -> tuple[PassResult, Pace]:
        """Wait for what is being written, and count it."""
        done, batch = pending.future.result(), pending.batch
        self._tell_failed([*batch.failed, *done.refused])
        counted = replace(
            result,
            seen=result.seen + batch.rows,
            rewritten=result.rewritten + done.written,
            missed=result.missed + len(batch.changes) - done.written - len(done.refused),
            failed=result.failed + batch.failed_rows + len(done.refused),
        )
        seconds = max(pending.reading, done.seconds)
        return counted, pace.after(pending.page, seconds, done.written, self.clock())

    def _tell_failed(self, failed: Sequence[Failed]) -> None:
        for one in failed:
            place = (self.work.name, self.work.table.fullname)
            self.notify(RowFailed(*place, shown_key(one.key), one.column, one.reason))


@dataclass(frozen=True, slots=True)
class _Pending:
    """What is being written. page: rows of its last page, which took `reading` seconds to be read and renewed."""

    batch: Batch
    page: int
    reading: float
    future: "Future[Committed]"


@dataclass(frozen=True, slots=True)
class _Progress:
    """Tells how far a pass is."""

    of: Pass
    number: int
    total: int
    seen_before: int
    began: float

    def advanced(self, result: PassResult) -> None:
        seconds = max(self.of.clock() - self.began, 1e-9)
        rate = (result.seen - self.seen_before) / seconds
        total = max(self.total, result.seen)
        self.of.notify(
            Advanced(
                self.of.work.name,
                self.of.work.table.fullname,
                self.number,
                result.seen,
                total,
                result.rewritten,
                result.missed,
                result.failed,
                round(rate, 1),
                round((total - result.seen) / rate, 1) if rate else None,
            )
        )


class _Inline(Executor):
    """Runs in the caller's thread: SQLite has one writer, and a database in memory may have one connection."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  # raised where the result is asked for
            future.set_exception(error)
        return future


@contextmanager
def _second_thread(engine: Engine) -> Iterator[Executor]:
    if engine.dialect.name == "sqlite":
        yield _Inline()
        return
    with ThreadPoolExecutor(1, thread_name_prefix="noisevault writer") as threads:
        yield threads
