"""Part store: the job store of a worker that does a part of another process's run, and hears what that run hears.

What an operator wishes of the run, he wishes of its parts. A worker whose run is over, was taken over, or gives no sign
of life any more, ends after the batch in hand.
"""

import time
from collections.abc import Callable
from typing import Final

from sqlalchemy import Engine

from vault.errors import JobRunningError
from vault.jobs.job_store import JobName, JobState, JobStore, JobWish, Taken

__all__ = ["PartStore"]

# Ours: seconds without a sign of life of the run; far more than those after which another may take it over.
LONGEST_SILENCE: Final = 60.0


class PartStore(JobStore):
    """of: the run's job; run: which run of it."""

    def __init__(
        self,
        engine: Engine,
        of: JobName,
        run: str,
        *,
        silence: float = LONGEST_SILENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(engine)
        self._of = of
        self._run = run
        self._silence = silence
        self._time_of = clock
        self._last: tuple[int, float] | None = None

    def beat(self, taken: Taken) -> JobWish:
        """Count on; and what is wished of the run. Raises: JobRunningError when part or run has changed hands."""
        super().beat(taken)
        return self.wished()

    def wished(self) -> JobWish:
        """Of the run. Raises: JobRunningError when it has changed hands."""
        found = self._row(self._of)
        if found is None or found["run"] != self._run:
            raise JobRunningError(self._of.job, self._of.table)
        now = self._time_of()
        if self._last is None or self._last[0] != found["beat"]:
            self._last = (found["beat"], now)
        if not JobState(found["state"]).is_held or now - self._last[1] > self._silence:
            return JobWish.STOP
        return JobWish(found["wish"])
