"""Deadline: the moment after which the call that this thread is in begins nothing more.

It reaches what a client library calls on our behalf, to which no argument of ours comes through.
"""

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

__all__ = ["ends", "held_in_time", "until"]

_ends: Final[ContextVar[float]] = ContextVar("ends", default=math.inf)


def ends() -> float:
    """By time.monotonic(); infinity outside of a call that has a deadline."""
    return _ends.get()


@contextmanager
def until(moment: float) -> Iterator[None]:
    """Within it, the thread's call ends at this moment of time.monotonic(), or at the one that was set before."""
    token = _ends.set(min(moment, ends()))
    try:
        yield
    finally:
        _ends.reset(token)


@contextmanager
def held_in_time(lock: threading.Lock) -> Iterator[bool]:
    """Whether the lock is held within it: not if others keep it until the deadline."""
    left = ends() - time.monotonic()
    held = lock.acquire() if left == math.inf else lock.acquire(timeout=min(max(0.0, left), threading.TIMEOUT_MAX))
    try:
        yield held
    finally:
        if held:
            lock.release()
