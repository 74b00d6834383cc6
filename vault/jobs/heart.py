"""Heart: a thread that shows others that a run lives, and hears what an operator wishes of it."""

import threading
from types import TracebackType
from typing import Self

from sqlalchemy.exc import SQLAlchemyError

from vault.errors import JobRunningError
from vault.jobs.job_store import JobStore, JobWish, Taken

__all__ = ["Heart"]


class Heart:
    """Beats within `with`. stop: set by whoever in this process wants the run to end after the batch in hand."""

    def __init__(self, store: JobStore, taken: Taken, seconds: float, stop: threading.Event) -> None:
        self._store = store
        self._taken = taken
        self._seconds = seconds
        self._stop = stop
        self._ended = threading.Event()
        self._wish = JobWish.RUN
        self._lost = False
        self._thread = threading.Thread(target=self._beat, name="noisevault job", daemon=True)

    def is_paused(self) -> bool:
        return self._wish is JobWish.PAUSE and not self.is_stopping()

    def is_stopping(self) -> bool:
        """Whether the run is to end after the batch in hand.

        Raises: JobRunningError when another run has taken the job over.
        """
        if self._lost:
            raise JobRunningError(self._taken.name.job, self._taken.name.table)
        return self._wish is JobWish.STOP or self._stop.is_set()

    def rest(self, seconds: float) -> None:
        """Wait, no longer than until the run is to end."""
        self._stop.wait(seconds)

    def __enter__(self) -> Self:
        if _is_shared(self._store):
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _beat(self) -> None:
        while not self._ended.wait(self._seconds):
            try:
                self._wish = self._store.beat(self._taken)
            except JobRunningError:
                self._lost = True
                return
            except SQLAlchemyError:
                continue  # the run itself finds out whether the database is there


def _is_shared(store: JobStore) -> bool:
    """Whether another process can see the database: not if it lies in this one's memory."""
    url = store.engine.url
    in_memory = url.get_backend_name() == "sqlite" and (
        url.database in {None, "", ":memory:"} or "mode=memory" in str(url.query) or "mode=memory" in str(url.database)
    )
    return not in_memory
