"""Refresher: a thread that does a keyring's waiting, from the first use of the keyring to its end.

A daemon, so that a process ends without it; ended before a fork and begun anew, in the parent at once, in the child
when it is needed there. It holds what it works for weakly.
"""

import logging
import queue
import random
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol
from weakref import WeakMethod, finalize

from kms.fork import forget_in_child, let_go_before_fork

__all__ = ["Bell", "RefreshBell", "RefreshBy", "Refresher"]

# Ours: seconds that a fork waits for a request under way; past that the child is forked beside it.
FORK_WAITS_SECONDS: Final = 2.0

_log: Final = logging.getLogger(__name__)


class Bell(Protocol):
    """What the thread sleeps by."""

    def ring(self) -> None:
        """Wake the sleeper, or keep it from falling asleep. Called from anywhere, a finalizer included."""
        ...

    def wait(self, seconds: float) -> None:
        """Sleep for so long, or until it is rung."""
        ...


class RefreshBell:
    """A bell of the system's time, which stands still while the machine is suspended."""

    def __init__(self) -> None:
        self._rung = False
        # The only lock of the library that the collector may take in the middle of anything.
        self._rings: queue.SimpleQueue[None] = queue.SimpleQueue()

    def ring(self) -> None:
        """One ring is as good as many: they do not pile up."""
        if not self._rung:
            self._rung = True
            self._rings.put(None)

    def wait(self, seconds: float) -> None:
        """Rung before the end of the wait counts; what rings later is heard next time."""
        with suppress(queue.Empty):
            self._rings.get(timeout=seconds)
        self._rung = False


@dataclass(frozen=True, slots=True)
class RefreshBy:
    """bell: makes what the thread sleeps by. jitter: evenly from 0 to 1, how much later than it could it renews."""

    bell: Callable[[], Bell] = RefreshBell
    # Of the system: a seed that the application gave its processes would have them all ask at once.
    jitter: Callable[[], float] = random.SystemRandom().random


class _Run:
    """One thread's life. Kept alive by it, so it refers to nobody who owns it."""

    def __init__(self, step: Callable[[], float], bell: Bell, name: str) -> None:
        self.ended = False
        self.bell = bell
        self._step = WeakMethod(step)
        self._name = name
        self.thread = threading.Thread(target=self._go_on, name=f"noisevault refresh {name}", daemon=True)

    def end(self) -> None:
        """No other step is begun."""
        self.ended = True
        self.bell.ring()

    def _go_on(self) -> None:
        try:
            while not self.ended:
                step: Callable[[], float] | None = self._step()
                if step is None:
                    return
                seconds = step()
                del step
                self.bell.wait(seconds)
        except Exception as error:  # noqa: BLE001  # the callers refresh by themselves then
            if not self.ended:
                _log.error(  # a traceback may show more than it should
                    "keyring %r is not refreshed in the background any more (%s): its callers wait for it instead",
                    self._name,
                    type(error).__name__,
                )


class Refresher:
    """Calls step() again and again, each time after as many seconds as it said. One a keyring and process."""

    def __init__(
        self,
        step: Callable[[], float],
        name: str,
        bell: Callable[[], Bell] = RefreshBell,
        *,
        enabled: bool = True,
    ) -> None:
        """step: a bound method; when its object is collected, or the interpreter ends, so does the thread.

        enabled: if not, there never is a thread.
        """
        self._step: Callable[[], Callable[[], float] | None] = WeakMethod(step)
        self._name = name
        self._bell = bell
        self._closed = not enabled
        self._ending: finalize[Any, Any] | None = None
        self.forget_after_fork()
        forget_in_child(self)
        let_go_before_fork(self, Refresher._let_go, Refresher._take_up)

    def forget_after_fork(self) -> None:
        """A thread is not forked."""
        self._run: _Run | None = None
        self._forking = False
        self._starting = threading.Lock()

    def attending(self) -> bool:
        """Whether the thread works, and has been told that something is due; it is begun if there is none."""
        run = self._run
        if run is None:
            run = self._begin()
        if run is None or not run.thread.is_alive():
            return False
        run.bell.ring()
        return True

    def begin(self) -> None:
        """Begin the thread if there is none."""
        if self._run is None:
            self._begin()

    def ring(self) -> None:
        """Have a step made soon, if there is a thread."""
        run = self._run
        if run is not None:
            run.bell.ring()

    def close(self) -> None:
        """End the thread for good; a request under way is not waited for."""
        self._closed = True
        self._stop()

    def _begin(self) -> _Run | None:
        with self._starting:
            step = self._step()
            if self._run is None and not self._closed and step is not None:
                run = _Run(step, self._bell(), self._name)
                try:
                    run.thread.start()
                except RuntimeError:  # no thread can be: too many, or the interpreter is ending
                    return None
                self._ending = finalize(step.__self__, run.end)  # type: ignore[attr-defined]  # it is a bound method
                self._run = run
            return self._run

    def _stop(self) -> _Run | None:
        run, self._run = self._run, None
        if self._ending is not None:
            self._ending.detach()
        if run is not None:
            run.end()
        return run

    def _let_go(self) -> None:
        run = self._stop()
        self._forking = run is not None
        if run is not None and run.thread is not threading.current_thread():
            run.thread.join(FORK_WAITS_SECONDS)

    def _take_up(self) -> None:
        if self._forking:
            self._forking = False
            self._begin()
