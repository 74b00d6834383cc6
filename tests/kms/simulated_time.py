"""A clock, and what a keyring's thread sleeps by: hours pass at once, with the thread doing what is due in between."""

import threading

STUCK_SECONDS = 20


class SimulatedTime:
    """Time of one keyring with its thread. Called, it is the clock; bell() is given to the keyring."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now
        self._changed = threading.Condition()
        self._wakes: float | None = None  # the sleeper's alarm; None while the thread works
        self._rung = False
        self.steps = 0

    def __call__(self) -> float:
        return self.now

    def bell(self) -> "SimulatedTime":
        return self

    def ring(self) -> None:
        with self._changed:
            self._rung = True
            self._changed.notify_all()

    def wait(self, seconds: float) -> None:
        with self._changed:
            self.steps += 1
            self._wakes = self.now + seconds
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._rung or (self._wakes is not None and self.now >= self._wakes))
            self._rung, self._wakes = False, None

    def settle(self) -> None:
        """Until the thread sleeps."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._wakes is not None and not self._rung, STUCK_SECONDS)

    def advance(self, seconds: float) -> None:
        """Let time pass; at each moment for which the thread has set its alarm, it works."""
        end = self.now + seconds
        while True:
            self.settle()
            with self._changed:
                assert self._wakes is not None
                self.now = min(end, max(self.now, self._wakes))
                if self.now < self._wakes:
                    return
                self._wakes = None
                self._changed.notify_all()
                self._wakes_up()

    def jump(self, seconds: float) -> None:
        """Time passes, or goes back, while the thread sleeps on: the machine was suspended."""
        self.now += seconds

    def _wakes_up(self) -> None:
        self._rung = True
        self._changed.notify_all()
