"""Kept open: what a worker process has opened for a session, such as its keyring, once for all that is done in it.

A session is one command's, or one program's, so that a worker that lives for weeks sees the policy and the definitions
as they are now. What nobody works with any more is closed when the next session comes, and when the process ends.
"""

import atexit
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, TypeVar

from kms import forget_in_child

__all__ = ["KeptOpen", "Sessions", "sessions"]

T = TypeVar("T")


class KeptOpen:
    """By a value that says what it is. Closed in the end, the last first."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._stack = ExitStack()
        self._found: dict[Hashable, Any] = {}
        self.users = 0

    def get(self, said: Hashable, open_it: Callable[[], AbstractContextManager[T]]) -> T:
        """What was opened for an equal value, or is now; threads that ask at once wait for one of them."""
        with self._lock:
            if said not in self._found:
                self._found[said] = self._stack.enter_context(open_it())
            found: T = self._found[said]
            return found

    def close(self) -> None:
        with self._lock:
            self._found.clear()
            self._stack.close()


class Sessions:
    """Of one process; a forked child has none of them."""

    def __init__(self) -> None:
        self.forget_after_fork()
        forget_in_child(self)

    def forget_after_fork(self) -> None:
        """What the parent has opened is the parent's."""
        self._lock = threading.Lock()
        self._open: dict[str, KeptOpen] = {}

    @contextmanager
    def using(self, session: str) -> Iterator[KeptOpen]:
        """Within, what is opened for the session stays open."""
        with self._lock:
            kept = self._open.setdefault(session, KeptOpen())
            kept.users += 1
            idle = [name for name, one in self._open.items() if not one.users]
            ended = [self._open.pop(name) for name in idle]
        for one in ended:
            one.close()
        try:
            yield kept
        finally:
            with self._lock:
                kept.users -= 1

    def end(self, session: str = "") -> None:
        """Close what was opened for that session, or for all, where nobody works with it."""
        with self._lock:
            names = [name for name, one in self._open.items() if session in {"", name} and not one.users]
            ended = [self._open.pop(name) for name in names]
        for one in ended:
            one.close()


_OF_THIS_PROCESS = Sessions()
atexit.register(_OF_THIS_PROCESS.end)


def sessions() -> Sessions:
    """Of this process."""
    return _OF_THIS_PROCESS
