"""State lease: the keyring's state as last read, how long it may be relied on, and one reading at a time."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Generic, Protocol, TypeVar

from kms.data_key import ENDED
from kms.errors import LeaseExpiredError, UnavailableError
from kms.lease import Clock, LeaseSettings

__all__ = ["NamedState", "Snapshot", "StateLease"]

# Ours: ask again when two thirds of the sealing lease are over, so that a short outage of the store stops nobody.
REFRESH_AT: Final = 2 / 3
# Ours: seconds between two tries while the store is unavailable.
RETRY_SECONDS: Final = 5.0
# Ours: seconds that a caller waits for another thread's reading. Each statement of the store ends sooner.
LONGEST_WAIT_SECONDS: Final = 60.0
# Ours: readings in a row, each of which somebody ended while it was made; as many threads may do so at one moment.
MOST_ENDED_READINGS: Final = 20


class NamedState(Protocol):
    """What is read: it knows the keyring that it is of."""

    @property
    def name(self) -> str: ...


S = TypeVar("S", bound=NamedState)


@dataclass(frozen=True, slots=True)
class Snapshot(Generic[S]):
    """A state, the moment before it was asked for, and when to ask again. All by the lease's clock.

    ends: how often all leases had been ended before it was asked for.
    """

    state: S
    asked: float
    refresh_at: float
    ends: int


class StateLease(Generic[S]):
    """Reads the state of one keyring, or what lies beside its keys.

    on_news is called with each state that was read, before anyone sees it.
    """

    def __init__(
        self,
        read: Callable[[], S],
        leases: LeaseSettings,
        clock: Clock,
        on_news: Callable[[S], None] = lambda _: None,
        *,
        attended: Callable[[], bool] = lambda: False,
        patience: float = LONGEST_WAIT_SECONDS,
    ) -> None:
        """attended: whether a thread calls reload() in time; it is told so that news are due.

        patience: seconds that a caller waits for another thread's reading.
        """
        self._read = read
        self._leases = leases
        self._clock = clock
        self._on_news = on_news
        self._attended = attended
        self._patience = patience
        self._ends = 0  # of all leases at once, so far
        self._begun = 0  # readings begun so far
        self._latest = 0  # the last of them that gave a state
        self._outages = 0  # readings that failed because the store is unavailable
        self._outage = ""  # what the last one said
        self.retry_at = ENDED  # when to ask again after it, while it lasts
        self.forget_after_fork()
        self._snapshot = self._ask()

    def forget_after_fork(self) -> None:
        """Another thread of the parent may have held the lock."""
        self._lock = threading.Lock()

    @property
    def state(self) -> S:
        """The state as last read, however old."""
        return self._snapshot.state

    @property
    def asked(self) -> float:
        """The moment before the state was asked for."""
        return self._known().asked

    def end(self) -> None:
        """Rely on nothing that was read, or is being read, any more."""
        self._ends += 1
        self.retry_at = ENDED

    def _known(self) -> Snapshot[S]:
        snapshot = self._snapshot
        return snapshot if snapshot.ends == self._ends else replace(snapshot, asked=ENDED, refresh_at=ENDED)

    def for_sealing(self) -> tuple[S, float]:
        """A state that may be sealed by, and when to ask for it again: now, while another thread is reading; when the
        lease ends, if a thread attends to it, which tells when it has news.

        Raises: LeaseExpiredError if it is older than the sealing lease and cannot be read.
        """
        lease = self._leases.sealing
        try:
            snapshot = self._within(lease)
        except UnavailableError as error:
            raise LeaseExpiredError(f"sealing stops until the keyring can be read again: {error}") from None
        end = snapshot.asked + lease
        return snapshot.state, end if self._attended() else min(snapshot.refresh_at, end)

    def for_opening(self) -> S:
        """A state to open by: news if they are due and can be had, else what is known, for the hard lease.

        Raises: UnavailableError.
        """
        return self._within(self._leases.unwrapped_hard).state

    def reload(self, enough: Callable[[S], bool] = lambda _: False) -> S:
        """A state that was asked for after this call began, or an earlier one that is enough.

        However many threads call at once, one reads and the others wait for it. Raises: UnavailableError.
        """
        begun, outages = self._begun, self._outages
        self._wait_for_lock()
        try:
            if self._outages != outages:  # found while we waited: not every thread waits for a timeout of its own
                raise UnavailableError(self._outage)
            if self._latest <= begun and not enough(self._snapshot.state):
                self._snapshot = self._ask()
            return self._snapshot.state
        finally:
            self._lock.release()

    def _within(self, lease: float) -> Snapshot[S]:
        """A snapshot younger than lease, read again when due. While one thread reads, the others go on."""
        now, snapshot = self._clock(), self._known()
        in_lease, outages = now < snapshot.asked + lease, self._outages
        if in_lease and (now < snapshot.refresh_at or self._attended() or not self._lock.acquire(blocking=False)):
            return snapshot
        if not in_lease:
            if now < self.retry_at + LONGEST_WAIT_SECONDS and self._attended():
                raise UnavailableError(self._outage)
            self._wait_for_lock()
        try:
            if not in_lease and self._outages != outages:
                raise UnavailableError(self._outage)
            return self._renewed(lease)
        finally:
            self._lock.release()

    def _wait_for_lock(self) -> None:
        if not self._lock.acquire(timeout=self._patience):
            raise UnavailableError(f"the key store has not answered for {self._patience:g} seconds")

    def _renewed(self, lease: float) -> Snapshot[S]:
        now, snapshot = self._clock(), self._known()
        if now < min(snapshot.refresh_at, snapshot.asked + lease):  # another thread did while we waited
            return snapshot
        reason = "reading it took longer than its lease"
        try:
            for _ in range(MOST_ENDED_READINGS):
                self._snapshot = self._ask()
                if self._snapshot.ends == self._ends:
                    break  # else ended by somebody while it was read: once more, for what is now
            else:
                reason = "it was ended each time that it was read"
        except UnavailableError as error:
            reason = str(error)
            self._snapshot = replace(snapshot, refresh_at=self._clock() + RETRY_SECONDS)
        if self._clock() >= self._known().asked + lease:
            raise UnavailableError(f"keyring {snapshot.state.name!r} was not read for {lease:g} seconds: {reason}")
        return self._snapshot

    def _ask(self) -> Snapshot[S]:
        self._begun += 1
        ends = self._ends
        asked = self._clock()  # before the request: the answer may be as old as the question
        try:
            state = self._read()
        except UnavailableError as error:
            self._outages, self._outage = self._outages + 1, str(error)
            self.retry_at = self._clock() + RETRY_SECONDS
            raise
        self._on_news(state)
        self._latest = self._begun
        self.retry_at = ENDED
        return Snapshot(state, asked, asked + REFRESH_AT * self._leases.sealing, ends)
