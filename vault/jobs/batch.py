"""Batch: what one page of rows becomes, written in one short transaction together with the checkpoint after it."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from vault.jobs import quarantine
from vault.jobs.change import Change, Failed, Key
from vault.jobs.contention import was_ended_for_another
from vault.jobs.job_store import JobStore, Taken
from vault.jobs.outage import Outage
from vault.jobs.short_transaction import short_transaction
from vault.jobs.work import BatchWriter

__all__ = ["Batch", "CommitsBatches", "Committed"]

# Ours: seconds of the longest rest before a transaction that was ended for another is tried again.
LONGEST_REST: Final = 0.1


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
    """written: rows; the others of the batch's changes were missed. seconds: that it took."""

    written: int
    seconds: float


@dataclass(frozen=True, slots=True)
class CommitsBatches:
    """tries: how often a transaction that the database ended for a service's is made in all."""

    engine: Engine
    store: JobStore
    writer: BatchWriter
    outage: Outage
    tries: int
    lock_seconds: float
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def commit(self, taken: Taken, batch: Batch) -> Committed:
        """Write the batch. Rows that could not be had in so many tries are missed, and looked at in the next pass.

        Raises: JobRunningError when another run has taken the job over; JobError when the database stays away.
        """
        began = self.clock()
        for _ in range(self.tries):
            written = self.outage.outlast(lambda: self._once(taken, batch, batch.changes))
            if written is not None:
                return Committed(written, self.clock() - began)
            self.sleep(random.random() * LONGEST_REST)  # noqa: S311  # not a secret
        self.outage.outlast(lambda: self._once(taken, batch, ()))
        return Committed(0, self.clock() - began)

    def _once(self, taken: Taken, batch: Batch, changes: Sequence[Change]) -> int | None:
        """How many rows were written; None when the transaction was ended for another."""
        name = taken.name
        try:
            with short_transaction(self.engine, self.lock_seconds) as connection:
                written = sum(self.writer.write(connection, changes)) if changes else 0
                quarantine.note(connection, name.job, name.table, taken.mark, batch.failed)
                counts = {"seen": batch.rows, "rewritten": written, "failed": batch.failed_rows}
                missed = len(batch.changes) - written
                self.store.advance(connection, taken, batch.last, missed=missed, **counts)
        except DBAPIError as error:
            if not was_ended_for_another(error):
                raise
            return None
        return written
