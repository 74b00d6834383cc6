"""One-way clock: a clock that is watched for going back, since nobody knows then how old a lease is."""

import threading
import time
from collections.abc import Callable
from typing import Final

from kms.lease import Clock, boottime_clock

__all__ = ["OneWayClock", "one_way"]

# The system promises that these never go back; to watch them would cost a Python frame for every value.
NEVER_BACK: Final = (boottime_clock, time.monotonic)


class OneWayClock:
    """Gives the clock's time, and calls went_back before it gives one that is earlier than another it gave."""

    def __init__(self, clock: Clock, went_back: Callable[[], None]) -> None:
        """went_back: must not look at this clock."""
        self._clock = clock
        self._went_back = went_back
        self._latest = float("-inf")
        self.forget_after_fork()

    def forget_after_fork(self) -> None:
        """Another thread of the parent may have held the lock."""
        self._lock = threading.Lock()

    def __call__(self) -> float:
        with self._lock:
            now = self._clock()
            if now < self._latest:
                self._went_back()
            self._latest = now
            return now


def one_way(clock: Clock, went_back: Callable[[], None]) -> Clock:
    """The clock itself where it cannot go back, else a watched one."""
    return clock if clock in NEVER_BACK else OneWayClock(clock, went_back)
