"""Process pool: workers in processes of their own on this machine, begun afresh so that no key is copied by a fork.

When a process of a pool dies, Python ends the others too: another pool takes its place, and what was in hand is
done again from its checkpoint.
"""

import multiprocessing
import secrets
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Self, TypeVar

from vault.jobs.workers.worker_process import begin_worker_process
from vault.jobs.workers.workers import LOST

__all__ = ["ProcessPool"]

T = TypeVar("T")
R = TypeVar("R")


class ProcessPool:
    """Used within `with`, at the end of which its processes have ended. Satisfies Workers.

    The program that makes one is imported by each process: what it does stands under `if __name__ == "__main__":`.
    """

    lost = LOST

    def __init__(self, count: int) -> None:
        self.count = count
        self.session = secrets.token_hex()
        self._pool: ProcessPoolExecutor | None = None

    def submit(self, run: Callable[[T], R], task: T) -> "Future[R]":
        if self._pool is None:
            self._pool = self._begun()
        try:
            return self._pool.submit(run, task)
        except BrokenProcessPool:
            self._pool.shutdown()
            self._pool = self._begun()
            return self._pool.submit(run, task)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def _begun(self) -> ProcessPoolExecutor:
        """Spawned, on every version of Python: a copy of a process with threads and keys is neither safe nor wanted."""
        return ProcessPoolExecutor(
            self.count, mp_context=multiprocessing.get_context("spawn"), initializer=begin_worker_process
        )
