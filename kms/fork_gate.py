"""Fork gate: a fork waits until no other thread is inside, and none comes in before it is done.

SQLite has locks of its own in the process; a child that is forked while another thread holds one waits for it for ever.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["ForkGate"]

# Ours: seconds that a fork waits for those inside, and they for a fork; past that one goes on beside the other. Longer
# than whoever is inside waits for a lock of the database.
PATIENCE_SECONDS: Final = 10.0


class ForkGate:
    """Shared by threads. Whoever forks calls shut() before, reopen() afterwards in the parent.

    In the child, forget_after_fork().
    """

    def __init__(self, patience: float = PATIENCE_SECONDS) -> None:
        self._patience = patience
        self.forget_after_fork()

    def forget_after_fork(self) -> None:
        """In a child, whose only thread is the one that forked."""
        self._changed = threading.Condition()
        self._inside: list[int] = []
        self._shut = False

    @contextmanager
    def passed(self) -> Iterator[None]:
        """Inside; a thread that is inside already does not wait."""
        changed, me = self._changed, threading.get_ident()
        with changed:
            self._wait(lambda: not self._shut or me in self._inside)
            self._inside.append(me)
        try:
            yield
        finally:
            if changed is self._changed:  # else we are the child of a fork that was made inside
                with changed:
                    self._inside.remove(me)
                    changed.notify_all()

    def shut(self) -> None:
        """Let nobody in, and wait for the others that are inside; again: nothing."""
        me = threading.get_ident()
        with self._changed:
            if self._shut:
                return
            self._shut = True
            self._wait(lambda: all(thread == me for thread in self._inside))

    def reopen(self) -> None:
        """Let everybody in."""
        with self._changed:
            self._shut = False
            self._changed.notify_all()

    def _wait(self, is_so: Callable[[], bool]) -> None:
        self._changed.wait_for(is_so, self._patience)
