"""Window: the time a run has, and what is begun in it."""

from dataclasses import dataclass

__all__ = ["Window"]


@dataclass(frozen=True, slots=True)
class Window:
    """seconds: how long; None: without an end. begun: by the clock that `now` is of."""

    seconds: float | None
    begun: float

    def left(self, now: float) -> float:
        return float("inf") if self.seconds is None else max(0.0, self.begun + self.seconds - now)

    def admits(self, estimate: float, now: float, *, resumes: bool) -> bool:
        """Whether work of so many seconds is begun now.

        What would not end in what is left waits for the next window. What is longer than any window would wait for
        ever: if it goes on where it was stopped, it is begun; if it does not, never.
        """
        left = self.left(now)
        if left <= 0:
            return False
        return estimate <= left or (resumes and self.seconds is not None and estimate > self.seconds)
