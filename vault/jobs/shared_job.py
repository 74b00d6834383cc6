"""Shared job: a job of which others do the passes, and who has them do it."""

from collections.abc import Callable
from typing import Any, Protocol

from sqlalchemy import Engine, RowMapping, Table

from vault.jobs.events import Event
from vault.jobs.heart import Heart
from vault.jobs.job_store import JobStore, Taken
from vault.jobs.one_pass import PassResult
from vault.jobs.outage import Outage

__all__ = ["SharedJob", "SharesPasses"]


class SharedJob(Protocol):
    """A job of which others do the passes: what they are to know of it, and whom they tell."""

    @property
    def engine(self) -> Engine: ...

    @property
    def settings(self) -> Any:
        """With a pace. It pickles."""
        ...

    @property
    def notify(self) -> Callable[[Event], None]: ...

    @property
    def clock(self) -> Callable[[], float]: ...

    @property
    def table(self) -> Table: ...

    def outage(self) -> Outage: ...

    def refreshed_goal(self) -> str: ...

    def hold(self, store: JobStore, taken: Taken, heart: Heart) -> None: ...

    def pass_alone(self, store: JobStore, taken: Taken, heart: Heart, total: int) -> PassResult: ...

    def told_failed(self, row: RowMapping) -> Event:
        """What is told of an entry of the quarantine."""
        ...


class SharesPasses(Protocol):
    """Has others do the passes of a job over a whole table, each a part of it; begin, end and proof stay the job's."""

    def begun(self, store: JobStore, taken: Taken) -> Taken:
        """What was taken, with what the parts of its pass have done already."""
        ...

    def run(self, job: SharedJob, store: JobStore, taken: Taken, heart: Heart, total: int) -> PassResult:
        """One pass. Raises: JobRunningError, JobError."""
        ...
