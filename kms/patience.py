"""Patience: how often, and for how long, a call that found the service unavailable is made again."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from kms.deadline import ends
from kms.errors import KmsError, UnavailableError

__all__ = ["Patience"]

Answer = TypeVar("Answer")

# Ours: after as many, the longest wait is no longer doubled.
DOUBLINGS: Final = 30


@dataclass(frozen=True, slots=True)
class Patience:
    """deadline: seconds after a call began in which another attempt may begin. attempts: in all; None: no limit.

    pause: seconds of the longest wait before the second attempt, doubled for each later one up to longest_pause; the
    wait is a random part of it, so that processes which met one outage do not come back together.
    """

    deadline: float = 5.0
    attempts: int | None = None
    pause: float = 0.2
    longest_pause: float = 2.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    # Of the system: a seed that the application gave its processes would have them all come back at once.
    random: Callable[[], float] = random.SystemRandom().random

    def __post_init__(self) -> None:
        if (self.attempts is not None and self.attempts < 1) or min(self.deadline, self.pause, self.longest_pause) < 0:
            raise ValueError("a call is attempted at least once, and nobody waits for less than no time")

    def end(self) -> float:
        """The moment after which nothing more begins of a call that begins now, or of the one that it is part of."""
        return min(ends(), self.clock() + self.deadline)

    def is_over(self, end: float) -> bool:
        return self.clock() >= end

    def persist(self, call: Callable[[], Answer | KmsError], end: float) -> Answer | KmsError:
        """What the call gives: its first answer that is not an UnavailableError, or the last one if none is.

        end: as end() gave it when the caller's own call began. The first attempt is made in any case.
        """
        answer = call()
        made = 1
        while isinstance(answer, UnavailableError) and made != self.attempts:
            wait = self.random() * min(self.pause * 2 ** min(made - 1, DOUBLINGS), self.longest_pause)
            if self.clock() + wait >= end:
                break
            self.sleep(wait)
            answer = call()
            made += 1
        return answer
