"""Kept open: what a worker process has opened, such as its keyring, once for all that it is given to do."""

import atexit
import os
import threading
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, ExitStack
from typing import Any, TypeVar

__all__ = ["KeptOpen", "kept_open"]

T = TypeVar("T")


class KeptOpen:
    """By a value that says what it is. Closed in the end, the last first."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._stack = ExitStack()
        self._found: dict[Hashable, Any] = {}
        self._process = os.getpid()

    def get(self, said: Hashable, open_it: Callable[[], AbstractContextManager[T]]) -> T:
        """What was opened for an equal value, or is now; threads that ask at once wait for one of them."""
        with self._lock:
            if self._process != os.getpid():  # forked: what the parent has opened is the parent's
                self._stack, self._found, self._process = ExitStack(), {}, os.getpid()
            if said not in self._found:
                self._found[said] = self._stack.enter_context(open_it())
            found: T = self._found[said]
            return found

    def close(self) -> None:
        with self._lock:
            if self._process == os.getpid():
                self._found.clear()
                self._stack.close()


_OF_THIS_PROCESS = KeptOpen()
atexit.register(_OF_THIS_PROCESS.close)


def kept_open() -> KeptOpen:
    """Of this process, closed when it ends."""
    return _OF_THIS_PROCESS
