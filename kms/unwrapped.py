"""Unwrapped keys: what this process holds of a keyring in the clear, and for how long."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from kms.data_key import ENDED, DataKey, LeasedKey
from kms.each_alone import unwrapped_alone
from kms.errors import (
    CannotUnwrapError,
    KeyDestroyedError,
    KeyDisabledError,
    KeyNotFoundError,
    KeyRetiredError,
    KeyVersionRetiredError,
    KmsError,
    UnavailableError,
)
from kms.key_record import KeyRecord, ended_error
from kms.lease import Clock, LeaseSettings
from kms.provider import KeyProvider
from kms.refusals import Refusals, anew
from kms.secret import SecretKey

__all__ = ["LEFT_OUT", "RETRY_SECONDS", "Held", "UnwrappedKeys"]

# Ours: seconds between two tries while the key service is unavailable.
RETRY_SECONDS: Final = 5.0
# Ours: seconds that a caller waits for a request that another thread makes. Each request of a provider ends sooner.
LONGEST_WAIT_SECONDS: Final = 60.0
# What a key service says of wrapped bytes whose KEK, or KEK version, was taken away after a rewrap.
MAY_BE_REWRAPPED: Final = (CannotUnwrapError, KeyDisabledError, KeyNotFoundError, KeyVersionRetiredError)
# What one key may be left out of warming for; anything else is an error of the whole keyring.
LEFT_OUT: Final = (CannotUnwrapError, KeyDestroyedError, KeyRetiredError, KeyVersionRetiredError)

Failures = dict[bytes, KmsError]


@dataclass(frozen=True, slots=True)
class Held:
    """A key in the clear, leased until it is to be unwrapped again.

    asked: the moment before the request that gave it. hard: when it is gone, news or not.
    """

    leased: LeasedKey
    asked: float
    hard: float

    @property
    def key(self) -> DataKey:
        return self.leased.key

    @property
    def soft(self) -> float:
        return self.leased.until

    def is_of(self, record: KeyRecord) -> bool:
        """Whether the key was unwrapped for the place that the record gives it; else the record was changed."""
        return (self.key.purpose, self.key.sequence) == (record.purpose, record.sequence)


class UnwrappedKeys:
    """Unwraps through the provider, at most once a key and soft lease. Shared by threads."""

    def __init__(
        self,
        keyring: str,
        provider: KeyProvider,
        leases: LeaseSettings,
        clock: Clock,
        *,
        attended: Callable[[], bool] = lambda: False,
        newer: Callable[[Sequence[KeyRecord]], list[KeyRecord]] = lambda _: [],
        patience: float = LONGEST_WAIT_SECONDS,
    ) -> None:
        """attended: whether a thread calls refresh() in time; it is told so that a key is due.

        newer: of records whose bytes were refused, those that the store has with other bytes now, as it has them.
        patience: seconds that a caller waits for a request that another thread makes.
        """
        self._keyring = keyring
        self._provider = provider
        self._leases = leases
        self._clock = clock
        self._attended = attended
        self._newer = newer
        self._patience = patience
        self._refusals = Refusals(clock)
        self.forget_after_fork()

    def forget_after_fork(self) -> None:
        """A child opens its keys itself."""
        self._held: dict[bytes, Held] = {}
        self._records: dict[bytes, KeyRecord] = {}
        self._ended: dict[bytes, KeyRecord] = {}
        self._refusals.forget()
        self._ends = 0  # so far, of everything at once
        self._outages = 0  # so far
        self.outage = ""  # what the last one said
        self.wanted: set[bytes] = set()  # what refresh() is to unwrap: new keys, and those that an outage keeps back
        self.retry_at = ENDED  # when to ask again after it, while it lasts
        self._lock = threading.Lock()

    def peek(self, key_id: bytes) -> Held | None:
        """What is held under this id, however old. One look into a dictionary."""
        return self._held.get(key_id)

    def all_held(self) -> list[Held]:
        """All that is held, however old."""
        return list(self._held.values())

    def on_news(self, records: Sequence[KeyRecord]) -> None:
        """From now on hold nothing but live keys of these records, each in its place."""
        self._records = {record.key_id: record for record in records if record.live}
        self._ended = {record.key_id: record for record in records if not record.live}
        for key_id, held in list(self._held.items()):
            self._drop_unless_current(key_id, held)

    def end_all(self) -> None:
        """Hold nothing, nor believe what is being asked for to be younger than it may be."""
        self._ends += 1
        self.wanted.clear()
        self.retry_at = ENDED
        self._refusals.forget()
        for key_id in list(self._held):
            self._drop(key_id)

    def get(self, record: KeyRecord) -> Held:
        """The record's key, unwrapped again if due. While one thread asks, the others go on with what they have.

        Only "unavailable" lets a key live past its soft lease, up to the hard one; every other answer ends it.
        Raises: KmsError.
        """
        held, now = self._held.get(record.key_id), self._clock()
        if held is not None and now < held.soft:
            return held
        outages, attended = self._outages, self._attended()
        if held is not None and now < held.hard:
            if attended or not self._lock.acquire(blocking=False):
                return held
        else:
            self._wait_for_lock(record, asked_elsewhere=attended and (held is not None or record.key_id in self.wanted))
        try:
            held = self._held.get(record.key_id)
            if held is not None and self._clock() < held.soft:
                return held
            if outages != self._outages:  # found while we waited: not every thread waits for a timeout of its own
                failures = self._live_on([record])
            else:
                failures = self._ask([record, *self._others_due(record)])
            if record.key_id in failures:
                raise failures[record.key_id]
            return self._fresh(record)
        finally:
            self._lock.release()

    def open_all(self, records: Sequence[KeyRecord]) -> Failures:
        """Unwrap in one go what is not held or due, and tell by key id why a live key is not held then."""
        return self.refresh(records, self._clock())

    def refresh(self, records: Sequence[KeyRecord], due: float) -> Failures:
        """As open_all, and what will be due at that moment, so that nobody has to wait for it then."""
        with self._lock:
            outages = self._outages
            failures = self._ask([record for record in records if record.live and self._is_due(record.key_id, due)])
            if self._outages == outages:
                self.wanted.clear()
                self.retry_at = ENDED
            return failures

    def _wait_for_lock(self, record: KeyRecord, *, asked_elsewhere: bool) -> None:
        """Raises: KmsError if there is nothing to wait for, or for too long."""
        refusal = self._refusals.find(record)
        if refusal is not None:
            raise refusal
        if asked_elsewhere and self._clock() < self.retry_at + LONGEST_WAIT_SECONDS:
            raise UnavailableError(self.outage)
        if not self._lock.acquire(timeout=self._patience):
            raise UnavailableError(
                f"the key service of keyring {self._keyring!r} has not answered for {self._patience:g} seconds"
            )

    def _others_due(self, record: KeyRecord) -> list[KeyRecord]:
        now = self._clock()
        held = [other for key_id, other in self._records.items() if key_id in self._held and key_id != record.key_id]
        return [other for other in held if self._is_due(other.key_id, now)]

    def _ask(self, records: Sequence[KeyRecord]) -> Failures:
        """Hold what opens, forget what does not and tell why. What was refused just now is not asked for again."""
        failures = {r.key_id: refusal for r in records if (refusal := self._refusals.find(r)) is not None}
        asked_for = [record for record in records if record.key_id not in failures]
        if asked_for:
            try:
                failures |= self._asked(asked_for)
            except UnavailableError as error:
                self._outages, self.outage = self._outages + 1, str(error)
                self.retry_at = self._clock() + RETRY_SECONDS
                gone = self._live_on(asked_for)
                self.wanted |= gone.keys()
                failures |= gone
        for key_id in failures:
            self._drop(key_id)
        return failures

    def _asked(self, records: Sequence[KeyRecord]) -> Failures:
        """As _ask, of the service, and once more for those whose bytes were exchanged by a rewrap."""
        failures = self._unwrap(records)
        refused = [r for r in records if isinstance(failures.get(r.key_id), MAY_BE_REWRAPPED)]
        newer = self._newer(refused) if refused else []
        if newer:
            failures = {k: v for k, v in failures.items() if k not in {r.key_id for r in newer}} | self._unwrap(newer)
        now_stored = {record.key_id: record for record in [*records, *newer]}
        for key_id, error in failures.items():
            self._refusals.remember(now_stored[key_id], error)
        return failures

    def _unwrap(self, records: Sequence[KeyRecord]) -> Failures:
        asked, ends = self._clock(), self._ends
        secrets: dict[bytes, SecretKey]
        try:
            secrets, failures = unwrapped_alone(self._provider.unwrap, records)
        except UnavailableError:
            raise
        except KmsError as error:  # of the login or the settings, so of all of them
            return {record.key_id: anew(error) for record in records}
        self.retry_at = ENDED
        opened = [record for record in records if record.key_id in secrets]
        for record in opened:
            self._hold(record, secrets[record.key_id], asked)
        if ends != self._ends:  # meanwhile: nobody knows how long ago that was, so the keys are for the call at hand
            for record in opened:
                self._hold(record, secrets[record.key_id], ENDED)
        return {key_id: anew(error) for key_id, error in failures.items()}

    def _hold(self, record: KeyRecord, secret: SecretKey, asked: float) -> None:
        """Lease the key from that moment; the lease that callers have of it already is the one that is lengthened."""
        key, before = DataKey(record.key_id, record.purpose, record.sequence, secret), self._held.get(record.key_id)
        if before is not None and before.key == key:
            leased = before.leased
        else:
            self._drop(record.key_id)
            leased = LeasedKey(key, ENDED)
        held = self._held[record.key_id] = Held(leased, asked, asked + self._leases.unwrapped_hard)
        leased.extend(asked + self._leases.unwrapped_soft)
        self._refusals.withdraw(record.key_id)
        self._drop_unless_current(record.key_id, held)

    def _live_on(self, records: Sequence[KeyRecord]) -> Failures:
        """The service is unavailable: what is in its hard lease lives on, the rest does not."""
        now, gone = self._clock(), []
        for record in records:
            held = self._held.get(record.key_id)
            if held is None or now >= held.hard:
                self._drop(record.key_id)
                gone.append(record.key_id)
            elif held.soft < now + RETRY_SECONDS:
                held.leased.extend(min(held.hard, now + RETRY_SECONDS))
        return {key_id: UnavailableError(self.outage) for key_id in gone}

    def _fresh(self, record: KeyRecord) -> Held:
        held = self._held.get(record.key_id)
        if held is None:  # retired or destroyed while we asked
            raise ended_error(self._keyring, self._ended.get(record.key_id, record))
        return held

    def _drop(self, key_id: bytes) -> None:
        """Forget a key; whoever holds it learns so at the next use."""
        held = self._held.pop(key_id, None)
        if held is not None:
            held.leased.end()

    def _is_due(self, key_id: bytes, when: float) -> bool:
        held = self._held.get(key_id)
        return held is None or when >= held.soft

    def _drop_unless_current(self, key_id: bytes, held: Held) -> None:
        record = self._records.get(key_id)
        if record is None or not held.is_of(record):
            self._drop(key_id)
