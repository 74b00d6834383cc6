"""Last moment: until when a question may still be answered; what is stored later is given to nobody."""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

from dp.errors import TooLateError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LastMoment:
    """at: seconds of the clock, which is one for all processes of the machine and is never set."""

    at: float
    clock: Callable[[], float] = time.monotonic

    def require(self) -> None:
        """Raises: TooLateError when it has passed."""
        if self.clock() >= self.at:
            raise TooLateError("the last moment for this answer has passed; ask again, which is a new charge")

    def before_each(self, rows: Iterable[T]) -> Iterator[T]:
        """The same batches of rows, each only when it is not too late yet. Raises: TooLateError."""
        for batch in rows:
            self.require()
            yield batch


# For who waits as long as it takes, as the command line does.
NO_LAST_MOMENT: Final = LastMoment(math.inf)
