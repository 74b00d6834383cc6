"""Leases beside: what others keep in the key store next to a keyring's keys, relied on and renewed as its state is.

So a change of it is known to every process within a sealing lease, like a rotation, and no caller waits for news.
"""

import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

from kms.errors import UnavailableError
from kms.fork import forget_in_child
from kms.lease import Clock, LeaseSettings
from kms.state_lease import RETRY_SECONDS, NamedState, StateLease

__all__ = ["LeasesBeside"]

S = TypeVar("S", bound=NamedState)
T = TypeVar("T")
# Ours: which part of a lease passes before the thread renews it; callers begin to ask by themselves at 2/3.
RENEWED_AT: Final = (1 / 2, 1 / 6)


class LeasesBeside:
    """Of one keyring, which has it as .beside. Shared by threads."""

    def __init__(
        self, leases: LeaseSettings, clock: Clock, jitter: Callable[[], float], attended: Callable[[], bool]
    ) -> None:
        """jitter: evenly from 0 to 1. attended: as StateLease takes it."""
        self._settings = leases
        self._clock = clock
        self._jitter = jitter
        self._attended = attended
        self._leases: list[StateLease[Any]] = []
        self._let_go: list[Callable[[], None]] = []
        self._not_before: dict[int, float] = {}
        self._kept: dict[str, Any] = {}
        self._draw()
        self.forget_after_fork()
        forget_in_child(self)

    def forget_after_fork(self) -> None:
        """The parent may have held the locks."""
        self._lock = threading.Lock()
        for lease in self._leases:
            lease.forget_after_fork()

    def once(self, what: str, make: Callable[[], T]) -> T:
        """What make() gives the first time, by name: those who use one keyring share what they lease beside it."""
        with self._lock:
            if what not in self._kept:
                self._kept[what] = make()
            kept: T = self._kept[what]
            return kept

    def lease(self, read: Callable[[], S], let_go: Callable[[], None]) -> StateLease[S]:
        """A lease on what read() gives, which is called at once.

        let_go: called when whoever holds what was read has to ask again: at each reading, and when all leases end.
        Raises: as read.
        """
        made = StateLease(read, self._settings, self._clock, lambda _news: let_go(), attended=self._attended)
        self._leases.append(made)
        self._let_go.append(let_go)
        return made

    def end(self) -> None:
        """Rely on nothing that was read any more."""
        for lease in self._leases:
            lease.end()
        for let_go in self._let_go:
            let_go()

    def renew(self) -> float:
        """Read what is due anew, and tell when something is due next. For the keyring's thread."""
        return min((self._renewed(*numbered) for numbered in enumerate(self._leases)), default=float("inf"))

    def _renewed(self, number: int, lease: StateLease[Any]) -> float:
        if self._clock() >= self._due(number, lease):
            self._draw()
            self._not_before[number] = self._clock() + RETRY_SECONDS
            try:
                lease.reload()
            except UnavailableError:  # what was read holds until its lease ends
                pass
            except Exception:  # noqa: BLE001  # whoever uses it next reads it, and is told
                lease.end()
            else:
                self._not_before.pop(number)
        return self._due(number, lease)

    def _due(self, number: int, lease: StateLease[Any]) -> float:
        due = lease.asked + self._part * self._settings.sealing
        return max(due, lease.retry_at, self._not_before.get(number, lease.asked))

    def _draw(self) -> None:
        least, spread = RENEWED_AT
        self._part = least + spread * self._jitter()
