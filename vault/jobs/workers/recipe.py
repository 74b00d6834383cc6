"""Recipe: how a worker process comes by the work of a job by itself; the only thing about the work that travels.

It names what is to be opened: the policy, the table, the options. Whoever reads it on its way learns no key, no
plaintext and no password of a key service.
"""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import Engine

from vault.jobs.engine import Job
from vault.jobs.events import Event
from vault.jobs.job_store import JobName, JobStore
from vault.jobs.one_pass import PassResult
from vault.jobs.outage import Outage
from vault.jobs.pace import PaceSettings
from vault.jobs.walking.key_range import KeyRange
from vault.jobs.work import Work
from vault.jobs.workers.kept_open import KeptOpen

__all__ = ["DoesPart", "Given", "PartSettings", "Recipe", "Supply"]


class PartSettings(Protocol):
    """A frozen dataclass that pickles, such as JobSettings."""

    @property
    def pace(self) -> PaceSettings: ...


class DoesPart(Protocol):
    """A job over a range of keys, as Job is one."""

    def outage(self) -> Outage: ...

    def refreshed_goal(self) -> str:
        """What the rows would be brought to, or checked by, if it began now. Raises: JobError, KmsError."""
        ...

    def run_part(self, store: JobStore, name: JobName, mark: str, total: int) -> PassResult:
        """As Job.run_part."""
        ...


@dataclass(frozen=True, slots=True, repr=False)
class Given:
    """What a task adds to a recipe."""

    settings: Any
    key_range: KeyRange
    notify: Callable[[Event], None]
    stop: threading.Event


@dataclass(frozen=True, slots=True, repr=False)
class Supply:
    """engine: of the data, shared. job: a fresh one each time, since a work is no thread's but its own."""

    engine: Engine
    job: Callable[[Given], DoesPart]

    @classmethod
    def of_work(cls, engine: Engine, make: Callable[[], Work]) -> "Supply":
        return cls(engine, lambda given: Job(make(), engine, given.settings, given.key_range, given.notify, given.stop))


class Recipe(Protocol):
    """A frozen value that pickles, of a class that the worker can import; equal ones are opened once a session."""

    def open(self, kept: KeptOpen) -> AbstractContextManager[Supply]:
        """Open the keyring and the database here, until the session ends. Raises: KmsError, VaultError.

        kept: for what several recipes of the session open alike, as the project.
        """
        ...

    def __hash__(self) -> int: ...
