"""State lease: the keyring's state as last read, how long it may be relied on, and one reading at a time."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from kms.errors import LeaseExpiredError, UnavailableError
from kms.key_record import KeyringState
from kms.lease import Clock, LeaseSettings

__all__ = ["Snapshot", "StateLease"]

# Ours: ask again when two thirds of the sealing lease are over, so that a short outage of the store stops nobody.
REFRESH_AT: Final = 2 / 3
# Ours: seconds between two tries while the store is unavailable.
RETRY_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state, the moment before it was asked for, and when to ask again. All by the lease's clock."""

    state: KeyringState
    asked: float
    refresh_at: float


class StateLease:
    """Reads the state of one keyring. on_news is called with each state that was read, before anyone sees it."""

    def __init__(
        self,
        read: Callable[[], KeyringState],
        leases: LeaseSettings,
        clock: Clock,
        on_news: Callable[[KeyringState], None] = lambda _: None,
    ) -> None:
        self._read = read
        self._leases = leases
        self._clock = clock
        self._on_news = on_news
        self._begun = 0  # readings begun so far
        self._latest = 0  # the last of them that gave a state
        self._outages = 0  # readings that failed because the store is unavailable
        self._outage = ""  # what the last one said
        self.forget_after_fork()
        self._snapshot = self._ask()

    def forget_after_fork(self) -> None:
        """Another thread of the parent may have held the lock."""
        self._lock = threading.Lock()

    @property
    def state(self) -> KeyringState:
        """The state as last read, however old."""
        return self._snapshot.state

    def for_sealing(self) -> tuple[KeyringState, float]:
        """A state that may be sealed by, and when to ask for it again (now, while another thread is reading).

        Raises: LeaseExpiredError if it is older than the sealing lease and cannot be read.
        """
        lease = self._leases.sealing
        try:
            snapshot = self._within(lease)
        except UnavailableError as error:
            raise LeaseExpiredError(f"sealing stops until the keyring can be read again: {error}") from None
        return snapshot.state, min(snapshot.refresh_at, snapshot.asked + lease)

    def for_opening(self) -> KeyringState:
        """A state to open by: news if they are due and can be had, else what is known, for the hard lease.

        Raises: UnavailableError.
        """
        return self._within(self._leases.unwrapped_hard).state

    def reload(self, enough: Callable[[KeyringState], bool] = lambda _: False) -> KeyringState:
        """A state that was asked for after this call began, or an earlier one that is enough.

        However many threads call at once, one reads and the others wait for it. Raises: UnavailableError.
        """
        begun, outages = self._begun, self._outages
        with self._lock:
            if self._outages != outages:  # found while we waited: not every thread waits for a timeout of its own
                raise UnavailableError(self._outage)
            if self._latest <= begun and not enough(self._snapshot.state):
                self._snapshot = self._ask()
            return self._snapshot.state

    def _within(self, lease: float) -> Snapshot:
        """A snapshot younger than lease, read again when due. While one thread reads, the others go on."""
        snapshot, now = self._snapshot, self._clock()
        in_lease, outages = now < snapshot.asked + lease, self._outages
        if in_lease and now < snapshot.refresh_at:
            return snapshot
        if not self._lock.acquire(blocking=not in_lease):
            return snapshot
        try:
            if not in_lease and self._outages != outages:
                raise UnavailableError(self._outage)
            return self._renewed(lease)
        finally:
            self._lock.release()

    def _renewed(self, lease: float) -> Snapshot:
        snapshot, now = self._snapshot, self._clock()
        if now < min(snapshot.refresh_at, snapshot.asked + lease):  # another thread did while we waited
            return snapshot
        reason = "reading it took longer than its lease"
        try:
            self._snapshot = self._ask()
        except UnavailableError as error:
            reason = str(error)
            self._snapshot = replace(snapshot, refresh_at=self._clock() + RETRY_SECONDS)
        if self._clock() >= self._snapshot.asked + lease:
            raise UnavailableError(f"keyring {snapshot.state.name!r} was not read for {lease:g} seconds: {reason}")
        return self._snapshot

    def _ask(self) -> Snapshot:
        self._begun += 1
        asked = self._clock()  # before the request: the answer may be as old as the question
        try:
            state = self._read()
        except UnavailableError as error:
            self._outages, self._outage = self._outages + 1, str(error)
            raise
        self._on_news(state)
        self._latest = self._begun
        return Snapshot(state, asked, asked + REFRESH_AT * self._leases.sealing)
