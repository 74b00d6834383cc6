"""Lease: how long a process may go on without news from the key store or the key service."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

__all__ = ["Clock", "LeaseSettings", "boottime_clock"]

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class LeaseSettings:
    """Seconds. With a clock that counts suspension, a laptop's or a paused machine's sleep ends them too.

    sealing: since before the keyring's state was asked for; then nothing is sealed.
    unwrapped_soft: since before a key was unwrapped; then it is unwrapped again.
    unwrapped_hard: likewise; an older key is not used even when the key service is unavailable.
    """

    sealing: float = 180
    unwrapped_soft: float = 300
    unwrapped_hard: float = 3600

    def __post_init__(self) -> None:
        if not self.sealing > 0:
            raise ValueError(f"the sealing lease is more than 0 seconds, not {self.sealing}")
        if not 0 < self.unwrapped_soft <= self.unwrapped_hard:
            raise ValueError(
                f"need 0 < unwrapped_soft <= unwrapped_hard, not {self.unwrapped_soft} and {self.unwrapped_hard} s"
            )


# Seconds since boot, suspension included where the system has such a clock. One call without a Python frame, since
# it is made for every value that is sealed.
boottime_clock: Clock = (
    partial(time.clock_gettime, time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic
)
