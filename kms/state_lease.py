"""State lease: the keyring's state as last read, how long it may be sealed by, and one reading at a time."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from kms.errors import LeaseExpiredError, UnavailableError
from kms.key_record import KeyringState
from kms.lease import Clock

__all__ = ["Snapshot", "StateLease"]

# Ours: ask again when two thirds of the lease are over, so that a short outage of the store stops nobody.
REFRESH_AT: Final = 2 / 3
# Ours: seconds between two tries while the store is unavailable, or while another thread is asking.
RETRY_SECONDS: Final = 5.0
BUSY_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state, when it is to be read again, and when nobody may seal by it any more (the lease's clock)."""

    state: KeyringState
    refresh_at: float
    until: float


class StateLease:
    """Reads the state of one keyring. on_news is called with each state that was read, before anyone sees it."""

    def __init__(
        self,
        read: Callable[[], KeyringState],
        sealing: float,
        clock: Clock,
        on_news: Callable[[KeyringState], None] = lambda _: None,
    ) -> None:
        self._read = read
        self._sealing = sealing
        self._clock = clock
        self._on_news = on_news
        self._begun = 0  # readings begun so far
        self.forget_after_fork()
        self._snapshot = self._ask()

    def forget_after_fork(self) -> None:
        """Another thread of the parent may have held the lock."""
        self._lock = threading.Lock()

    @property
    def state(self) -> KeyringState:
        """The state as last read, however old."""
        return self._snapshot.state

    def fresh(self) -> Snapshot:
        """A state that may be sealed by; read again when due. While one thread reads, the others go on.

        Raises: LeaseExpiredError if it cannot be read and the lease is over.
        """
        snapshot, now = self._snapshot, self._clock()
        if now < snapshot.refresh_at:
            return snapshot
        in_lease = now < snapshot.until
        if not self._lock.acquire(blocking=not in_lease):
            return replace(snapshot, refresh_at=min(snapshot.until, now + BUSY_SECONDS))
        try:
            if self._clock() >= self._snapshot.refresh_at:
                self._snapshot = self._ask_or_keep()
            return self._snapshot
        finally:
            self._lock.release()

    def reload(self, enough: Callable[[KeyringState], bool] = lambda _: False) -> KeyringState:
        """A state that was asked for after this call began, or an earlier one that is enough.

        However many threads call at once, one reads and the others wait for it. Raises: UnavailableError.
        """
        begun = self._begun
        with self._lock:
            if self._begun == begun and not enough(self._snapshot.state):
                self._snapshot = self._ask()
            return self._snapshot.state

    def _ask(self) -> Snapshot:
        self._begun += 1
        asked = self._clock()  # before the request: the answer may be as old as the question
        state = self._read()
        self._on_news(state)
        return Snapshot(state, asked + REFRESH_AT * self._sealing, asked + self._sealing)

    def _ask_or_keep(self) -> Snapshot:
        reason = "reading it took longer than the lease"
        try:
            snapshot = self._ask()
        except UnavailableError as error:
            reason = str(error)
            snapshot = self._snapshot
            snapshot = replace(snapshot, refresh_at=min(snapshot.until, self._clock() + RETRY_SECONDS))
        if self._clock() >= snapshot.until:
            raise LeaseExpiredError(
                f"keyring {snapshot.state.name!r} was not read within {self._sealing:g} s, sealing stops: {reason}"
            )
        return snapshot
