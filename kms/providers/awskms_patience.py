"""Patience: how often, and for how long, a call that found the service unavailable is made again."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from kms.errors import KmsError, UnavailableError

__all__ = ["Patience"]

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Patience:
    """attempts: in all. deadline: seconds after the first began in which another may begin.

    pause: seconds of the longest wait before the second attempt, doubled for each later one; the wait is a random
    part of it, so that processes which met one outage do not come back together.
    """

    attempts: int = 3
    deadline: float = 5.0
    pause: float = 0.2
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = random.random

    def __post_init__(self) -> None:
        if self.attempts < 1 or self.deadline < 0 or self.pause < 0:
            raise ValueError("a call is attempted at least once, and nobody waits for less than no time")

    def persist(self, call: Callable[[], Answer | KmsError]) -> Answer | KmsError:
        """What the call gives: its first answer that is not an UnavailableError, or the last one if none is."""
        end = self.clock() + self.deadline
        answer = call()
        for attempt in range(1, self.attempts):
            if not isinstance(answer, UnavailableError):
                break
            wait = self.random() * self.pause * 2 ** (attempt - 1)
            if self.clock() + wait >= end:
                break
            self.sleep(wait)
            answer = call()
        return answer
