"""Outage: a database that hung up, or a key service that does not answer, is waited for, with bounded patience."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from kms import LeaseExpiredError, UnavailableError
from vault.errors import JobError
from vault.jobs.contention import was_ended_for_another
from vault.jobs.full_disk import is_full_disk
from vault.jobs.refusal import as_job_error

__all__ = ["Outage", "is_outage"]

T = TypeVar("T")
# Ours: seconds between two attempts, doubled each time.
FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 2.0
# MariaDB: gone away, lost, refused, shutting down, too many connections. PostgreSQL's class 08 and 57P0x likewise.
MARIADB_CODES: Final = frozenset({1040, 1053, 1077, 1152, 1927, 2002, 2003, 2006, 2013, 2055})
SQLSTATES: Final = frozenset({"57P01", "57P02", "57P03", "53300"})
FULL: Final = (
    "the disk of the database has no room; what was written so far stays: make room, and go on by the same command"
)


def is_outage(error: BaseException) -> bool:
    """Whether the same call may succeed when its server is back."""
    if isinstance(error, UnavailableError | LeaseExpiredError | PoolTimeoutError):
        return True
    if not isinstance(error, DBAPIError):
        return False
    arguments = getattr(error.orig, "args", ()) or (None,)
    state = getattr(error.orig, "sqlstate", None)
    if error.connection_invalidated or arguments[0] in MARIADB_CODES or was_ended_for_another(error):
        return True
    if state is None:  # psycopg tells no state of a connection that was not had
        return type(error.orig).__module__.startswith("psycopg") and type(error.orig).__name__ == "OperationalError"
    return state in SQLSTATES or state.startswith("08")


@dataclass(frozen=True, slots=True)
class Outage:
    """patience: seconds that one outage may last. told: what is waited for, and for how many seconds more.

    table: that a refused statement is told of.
    """

    patience: float
    told: Callable[[str, float], None] = lambda _reason, _seconds: None
    given_up: Callable[[], bool] = lambda: False
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    table: str = "the job"

    def outlast(self, call: Callable[[], T]) -> T:
        """What the call gives, made again until it succeeds.

        Raises: JobError when the outage lasts longer, when the database's disk is full, and for what a database
        refuses, whose own error may quote a row and is let go of; what the call raises of another kind.
        """
        end: float | None = None
        pause = FIRST_PAUSE
        refused: JobError | None = None
        while True:
            try:
                return call()
            except (DBAPIError, PoolTimeoutError, UnavailableError, LeaseExpiredError) as error:
                if isinstance(error, DBAPIError) and is_full_disk(error):
                    refused = JobError(FULL)
                elif isinstance(error, DBAPIError) and not is_outage(error):
                    refused = as_job_error(error, self.table)
                reason = _reason(error)
            if refused is not None:
                raise refused  # where nothing is handled: the driver's error is not its context
            now = self.clock()
            end = now + self.patience if end is None else end
            if now >= end or self.given_up():
                raise JobError(f"{reason}; what was written so far stays: when it answers, go on by the same command")
            self.told(reason, end - now)
            self.sleep(min(pause, max(end - now, 0)))
            pause = min(2 * pause, LONGEST_PAUSE)


def _reason(error: Exception) -> str:
    """The driver's own text may quote a row."""
    if isinstance(error, UnavailableError | LeaseExpiredError):
        return str(error)
    if isinstance(error, DBAPIError) and was_ended_for_another(error):
        return f"what the job needs of the database is held by somebody else ({type(error.orig).__name__})"
    return f"the database does not answer ({type(getattr(error, 'orig', None) or error).__name__})"
