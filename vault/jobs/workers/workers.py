"""Workers: who does the parts of a job: any Executor, and how many of them at once."""

import secrets
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar

__all__ = ["LOST", "Workers", "WorkersOf"]

T = TypeVar("T")
R = TypeVar("R")
LOST: Final = (BrokenExecutor, CancelledError)


class Workers(Protocol):
    """count: how many parts are done at once. session: for which they keep open what they have opened."""

    @property
    def count(self) -> int: ...

    @property
    def session(self) -> str: ...

    @property
    def lost(self) -> tuple[type[BaseException], ...]:
        """What a future raises whose worker was lost."""
        ...

    def submit(self, run: Callable[[T], R], task: T) -> "Future[R]":
        """Raises: what `lost` names, when no worker is there any more and none could be had instead."""
        ...


@dataclass(frozen=True, slots=True)
class WorkersOf:
    """An executor that somebody else made and closes. Satisfies Workers."""

    executor: Executor
    count: int
    lost: tuple[type[BaseException], ...] = LOST
    session: str = field(default_factory=secrets.token_hex)

    def submit(self, run: Callable[[T], R], task: T) -> "Future[R]":
        return self.executor.submit(run, task)
