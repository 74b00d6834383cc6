"""Batch: what one page of rows becomes, written in one short transaction together with the checkpoint after it."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from vault.errors import JobError
from vault.jobs import quarantine
from vault.jobs.blame import Blame, Found, Refused, Written
from vault.jobs.change import Change, Failed, Key
from vault.jobs.contention import ran_out_of_time, was_ended_for_another
from vault.jobs.job_store import JobStore, Taken
from vault.jobs.outage import Outage, is_outage
from vault.jobs.refusal import refusal
from vault.jobs.short_transaction import short_transaction
from vault.jobs.work import BatchWriter

__all__ = ["Batch", "CommitsBatches", "Committed"]

# Ours: seconds of the longest rest before a transaction that was ended for another is tried again.
LONGEST_REST: Final = 0.1
# Of noisevault_quarantine.column_name.
COLUMN_CHARACTERS: Final = 100


@dataclass(frozen=True, slots=True, repr=False)
class Batch:
    """rows: of the page. last: its last key."""

    rows: int
    last: Key
    changes: Sequence[Change]
    failed: Sequence[Failed]

    @property
    def failed_rows(self) -> int:
        return len({one.key for one in self.failed})


@dataclass(frozen=True, slots=True)
class Committed:
    """written: rows. refused: values that the database did not take, which are in the quarantine.

    The others of the batch's changes were missed. seconds: that it took.
    """

    written: int
    refused: Sequence[Failed]
    seconds: float


@dataclass(frozen=True, slots=True)
class CommitsBatches:
    """tries: how often a transaction that the database ended for a service's is made in all.

    sets: the columns that a change sets.
    """

    engine: Engine
    store: JobStore
    writer: BatchWriter
    sets: Sequence[str]
    outage: Outage
    tries: int
    lock_seconds: float
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def commit(self, taken: Taken, batch: Batch) -> Committed:
        """Write the batch. Rows that could not be had in so many tries are missed, and looked at in the next pass.

        What the database refuses, or lets nobody write now, is looked for row by row; the others are written.
        Raises: JobRunningError when another run has taken the job over; JobError when the database stays away, or
        refuses what is no row's fault.
        """
        began = self.clock()
        reason = None
        for _ in range(self.tries):
            outcome = self._once(taken, batch, batch.changes)
            if isinstance(outcome, Written):
                return Committed(outcome.rows, (), self.clock() - began)
            reason = outcome.reason
            if reason is not None:
                break
            self.sleep(random.random() * LONGEST_REST)  # noqa: S311  # not a secret
        found = Found()
        if reason is not None or self.engine.dialect.name != "sqlite":  # whose one writer is not a row's fault
            found = Blame(lambda piece: self._piece(taken, piece), clock=self.clock).find(batch.changes)
        column = ", ".join(self.sets)[:COLUMN_CHARACTERS]
        refused = [Failed(change.key, column, reason) for change, reason in found.refused]
        rest = len(batch.changes) - found.written - len(refused)
        self._close(taken, replace(batch, changes=(), failed=[*batch.failed, *refused]), rest)
        return Committed(found.written, refused, self.clock() - began)

    def _once(self, taken: Taken, batch: Batch, changes: Sequence[Change]) -> Written | Refused:
        """The changes, what is listed, and the checkpoint, in one transaction."""

        def work(connection: Connection) -> int:
            written = sum(self.writer.write(connection, changes)) if changes else 0
            self._note(connection, taken, batch, len(batch.changes) - written, rewritten=written)
            return written

        return self._transaction(work)

    def _piece(self, taken: Taken, changes: Sequence[Change]) -> Written | Refused:
        """Some changes; the checkpoint stays, so that a run that dies here comes back to them."""

        def work(connection: Connection) -> int:
            written = sum(self.writer.write(connection, changes))
            self.store.count(connection, taken, rewritten=written)
            return written

        return self._transaction(work)

    def _close(self, taken: Taken, batch: Batch, missed: int) -> None:
        """The checkpoint after rows that are written."""

        def work(connection: Connection) -> int:
            self._note(connection, taken, batch, missed)
            return 0

        for _ in range(self.tries):
            if isinstance(self._transaction(work), Written):
                return
            self.sleep(random.random() * LONGEST_REST)  # noqa: S311  # not a secret
        raise JobError(f"{taken.name.table}: the job's own tables are locked by somebody; go on by the same command")

    def _note(self, connection: Connection, taken: Taken, batch: Batch, missed: int, **counts: int) -> None:
        name = taken.name
        quarantine.note(connection, name.job, name.table, taken.mark, batch.failed)
        counts |= {"seen": batch.rows, "failed": batch.failed_rows}
        self.store.advance(connection, taken, batch.last, missed=missed, **counts)

    def _transaction(self, work: Callable[[Connection], int]) -> Written | Refused:
        def once() -> Written | Refused:
            try:
                with short_transaction(self.engine, self.lock_seconds) as connection:
                    return Written(work(connection))
            except DBAPIError as error:
                if was_ended_for_another(error) or ran_out_of_time(error):
                    return Refused()
                reason = None if is_outage(error) else refusal(error)
                if reason is None:
                    raise
            return Refused(reason)

        return self.outage.outlast(once)
