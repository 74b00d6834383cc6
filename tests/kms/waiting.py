"""Waiting: a scripted provider until the test lets it go on, and the test until others wait."""

import threading
from collections.abc import Callable

STUCK_SECONDS = 30


def waits_for(gate: threading.Event, asking: threading.Event | None = None) -> Callable[[], None]:
    def wait() -> None:
        if asking is not None:
            asking.set()
        gate.wait(STUCK_SECONDS)

    return wait


class CountedLock:
    """A lock that tells how many have come to it: they hold it, or wait for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._come = threading.Semaphore(0)

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        self._come.release()
        return self._lock.acquire(blocking, timeout)

    def release(self) -> None:
        self._lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def wait_for(self, more: int) -> None:
        """Until so many more have come."""
        for _ in range(more):
            assert self._come.acquire(timeout=STUCK_SECONDS)
