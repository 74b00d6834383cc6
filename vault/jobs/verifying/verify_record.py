"""Verify record: how far a verification is and what it found, kept in the data's database, or nowhere.

A row that fails is listed in the quarantine under the name of this job; when a run has seen all rows, what it did not
find again is taken out.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from threading import Event as Flag
from typing import Final, Protocol

from vault.jobs import quarantine
from vault.jobs.change import Key
from vault.jobs.heart import Heart
from vault.jobs.job_store import JobName, JobState, JobStore, Taken
from vault.jobs.outage import Outage
from vault.jobs.short_transaction import short_transaction
from vault.jobs.verifying.finding import Finding

__all__ = ["Kept", "NotKept", "VerifyRecord"]

CHECKPOINT_SECONDS: Final = 1.0


class VerifyRecord(Protocol):
    """taken: where the run begins."""

    taken: Taken

    def advance(self, last: Key, rows: int, findings: Sequence[Finding], *, at_once: bool) -> None:
        """So many more rows were seen, up to that key."""
        ...

    def end(self, state: JobState, *, saw_all: bool) -> None: ...

    def alive(self, beat: float, stop: Flag) -> AbstractContextManager[Heart | None]:
        """Show others that the run lives, within `with`; the heart hears what an operator wishes."""
        ...


class NotKept:
    """Of a sample, or of a database that is only read."""

    def __init__(self, name: JobName) -> None:
        self.taken = Taken(name, "", "")

    def advance(self, last: Key, rows: int, findings: Sequence[Finding], *, at_once: bool) -> None:
        pass

    def end(self, state: JobState, *, saw_all: bool) -> None:
        pass

    def alive(self, beat: float, stop: Flag) -> AbstractContextManager[Heart | None]:  # noqa: ARG002
        return nullcontext(None)


class Kept:
    """In noisevault_job and noisevault_quarantine, which are made if they are missing."""

    def __init__(
        self,
        store: JobStore,
        taken: Taken,
        outage: Outage,
        *,
        lock_seconds: float,
        clock: Callable[[], float],
    ) -> None:
        """taken: from that store."""
        self.store = store
        self.taken = taken
        self._outage = outage
        self._lock_seconds = lock_seconds
        self._clock = clock
        self._last: Key = ()
        self._rows, self._noted_at = 0, clock()
        self._found: list[Finding] = []

    def advance(self, last: Key, rows: int, findings: Sequence[Finding], *, at_once: bool) -> None:
        """Write it together: findings at once, else once a second. Raises: JobRunningError, JobError."""
        self._last = last
        self._rows += rows
        self._found += findings
        if self._found or at_once or self._clock() - self._noted_at > CHECKPOINT_SECONDS:
            self._note()

    def flush(self) -> None:
        """Write what is not written yet. Raises: JobRunningError, JobError."""
        if self._rows:
            self._note()

    def end(self, state: JobState, *, saw_all: bool) -> None:
        """Raises: JobRunningError, JobError."""
        self.flush()
        if saw_all:
            self._outage.outlast(self._let_go)
        self._outage.outlast(lambda: self.store.tell(self.taken, state))

    def alive(self, beat: float, stop: Flag) -> AbstractContextManager[Heart]:
        return Heart(self.store, self.taken, beat, stop)

    def _note(self) -> None:
        self._outage.outlast(self._write)
        self._rows, self._noted_at, self._found = 0, self._clock(), []

    def _write(self) -> None:
        name, counts = self.taken.name, {"seen": self._rows, "failed": len({one.key for one in self._found})}
        with short_transaction(self.store.engine, self._lock_seconds) as connection:
            failed = [one.failed() for one in self._found]
            quarantine.note(connection, name.job, name.table, self.taken.mark, failed)
            self.store.advance(connection, self.taken, self._last, **counts)

    def _let_go(self) -> None:
        name = self.taken.name
        with short_transaction(self.store.engine, self._lock_seconds) as connection:
            quarantine.let_go(connection, name.job, name.table, self.taken.mark)
