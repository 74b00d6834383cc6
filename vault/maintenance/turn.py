"""Turn: whose turn it is to maintain a database: one process has it, for as long as it counts on in noisevault_job.

A run that was killed counts no more, and whoever comes next takes the turn; no lock is left behind.
"""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from vault.errors import VaultError
from vault.jobs.heart import Heart
from vault.jobs.job_store import JobName, JobState, JobStore

__all__ = ["JOB", "turn"]

JOB: Final = "maintain"
# The place of a table in noisevault_job: it is all of them.
ALL_TABLES: Final = "*"


@contextmanager
def turn(
    engine: Engine, keyring: str, stop: threading.Event, *, beat: float = 1.0, silence: float = 10.0
) -> Iterator[Heart]:
    """Have it within. keyring: its name. The Heart tells, as of a job, when another has taken it over.

    Raises: JobRunningError when another process has it; JobTablesError.
    """
    store = JobStore(engine)
    store.create()
    part = hashlib.sha256(keyring.encode()).hexdigest()
    taken = store.take(JobName(JOB, ALL_TABLES, part), "", 0, silence)
    state = JobState.STOPPED
    try:
        with Heart(store, taken, beat, stop) as heart:
            yield heart
        state = JobState.COMPLETE
    finally:
        with suppress(SQLAlchemyError, VaultError):  # then it is taken over when it stood still for long enough
            store.tell(taken, state)
