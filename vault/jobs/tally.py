"""Tally: what one run of a job did, in rows, and whether it is through."""

from dataclasses import dataclass

from vault.errors import JobIncompleteError
from vault.jobs.job_store import JobState

__all__ = ["Tally"]


@dataclass(frozen=True, slots=True)
class Tally:
    """What one run did, in rows. failed: in the quarantine; remaining: others that are not as the job leaves them.

    changed_meanwhile: how often a row was not written, since somebody changed it or had it locked. left: why those that
    remain were not done, with the number of rows, of the first ones. unsafe_seconds: for so long a service may still
    write as before, which this run cannot have seen.
    """

    job: str
    table: str
    rewritten: int = 0
    changed_meanwhile: int = 0
    failed: int = 0
    remaining: int = 0
    why: tuple[tuple[str, str, int], ...] = ()
    outcome: JobState = JobState.COMPLETE
    unsafe_seconds: float = 0.0
    left: tuple[tuple[str, int], ...] = ()

    def require_complete(self) -> None:
        """Raises: JobIncompleteError if a row is not done, or the run was ended before it was through."""
        if self.outcome is not JobState.COMPLETE:
            raise JobIncompleteError(self.table, self.remaining, self.failed)
