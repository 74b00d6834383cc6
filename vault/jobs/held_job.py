"""Held job: a job that was taken is let go of when its run fails, so that nobody waits for a run that is over."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from sqlalchemy.exc import SQLAlchemyError

from vault.errors import VaultError
from vault.jobs.job_store import JobState, JobStore, Taken

__all__ = ["let_go_of_when_it_fails"]


@contextmanager
def let_go_of_when_it_fails(store: JobStore, taken: Taken) -> Iterator[None]:
    """A checkpoint stays."""
    try:
        yield
    except BaseException:
        with suppress(SQLAlchemyError, VaultError):
            store.tell(taken, JobState.STOPPED)
        raise
