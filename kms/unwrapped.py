"""Unwrapped keys: what this process holds of a keyring in the clear, and for how long."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from kms.data_key import DataKey, LeasedKey
from kms.errors import KmsError, UnavailableError
from kms.key_record import KeyRecord, ended_error
from kms.lease import Clock, LeaseSettings
from kms.provider import KeyProvider, Wrapped

__all__ = ["Held", "UnwrappedKeys"]

# Ours: seconds between two tries while the key service is unavailable.
RETRY_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Held:
    """A key in the clear, leased until it is to be unwrapped again. hard: when it is gone, news or not."""

    leased: LeasedKey
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

    def __init__(self, keyring: str, provider: KeyProvider, leases: LeaseSettings, clock: Clock) -> None:
        self._keyring = keyring
        self._provider = provider
        self._leases = leases
        self._clock = clock
        self.forget_after_fork()

    def forget_after_fork(self) -> None:
        """A child opens its keys itself."""
        self._held: dict[bytes, Held] = {}
        self._records: dict[bytes, KeyRecord] = {}
        self._ended: dict[bytes, KeyRecord] = {}
        self._outages = 0  # so far
        self._outage = ""  # what the last one said
        self._lock = threading.Lock()

    def peek(self, key_id: bytes) -> Held | None:
        """What is held under this id, however old. One look into a dictionary."""
        return self._held.get(key_id)

    def on_news(self, records: Sequence[KeyRecord]) -> None:
        """From now on hold nothing but live keys of these records, each in its place."""
        self._records = {record.key_id: record for record in records if record.live}
        self._ended = {record.key_id: record for record in records if not record.live}
        for key_id, held in list(self._held.items()):
            self._drop_unless_current(key_id, held)

    def get(self, record: KeyRecord) -> Held:
        """The record's key, unwrapped again if due. While one thread asks, the others go on with what they have.

        Only "unavailable" lets a key live past its soft lease, up to the hard one; every other answer ends it.
        Raises: KmsError.
        """
        held, now = self._held.get(record.key_id), self._clock()
        if held is not None and now < held.soft:
            return held
        in_lease = held is not None and now < held.hard
        outages = self._outages
        if not self._lock.acquire(blocking=not in_lease):
            assert held is not None  # noqa: S101  # in_lease says so
            return held
        try:
            held = self._held.get(record.key_id)
            if held is not None and self._clock() < held.soft:
                return held
            if outages != self._outages:  # found while we waited: not every thread waits for a timeout of its own
                self._live_on([record])
            else:
                self._refresh(record)
            return self._fresh(record)
        finally:
            self._lock.release()

    def open_all(self, records: Sequence[KeyRecord]) -> None:
        """Unwrap in one go what is not held or due. Raises: KmsError if one of them does not open."""
        with self._lock:
            due = [record for record in records if record.live and self._is_due(record.key_id)]
            if due:
                self._unwrap(due)

    def _refresh(self, record: KeyRecord) -> None:
        others = [
            other for other in self._records.values() if other.key_id in self._held and self._is_due(other.key_id)
        ]
        batch = [record, *(other for other in others if other.key_id != record.key_id)]
        try:
            try:
                self._unwrap(batch)
            except UnavailableError:
                raise
            except KmsError:
                if len(batch) == 1:
                    raise
                self._unwrap([record])  # whichever of the others failed, it will say so when it is asked for
        except UnavailableError as error:
            self._outages, self._outage = self._outages + 1, str(error)
            self._live_on(batch)
        except KmsError:
            self._drop(record.key_id)
            raise

    def _live_on(self, records: Sequence[KeyRecord]) -> None:
        """The service is unavailable. Raises: UnavailableError if the first of the records is not held any more."""
        now = self._clock()
        for record in records:
            held = self._held.get(record.key_id)
            if held is not None and now < held.hard:
                leased = LeasedKey(held.key, min(held.hard, now + RETRY_SECONDS))
                self._held[record.key_id] = replace(held, leased=leased)
            else:
                self._drop(record.key_id)
        if records[0].key_id not in self._held:
            raise UnavailableError(self._outage)

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

    def _is_due(self, key_id: bytes) -> bool:
        held = self._held.get(key_id)
        return held is None or self._clock() >= held.soft

    def _unwrap(self, records: Sequence[KeyRecord]) -> None:
        asked = self._clock()
        pairs: list[tuple[Wrapped, bytes]] = [(r.wrapped, r.context) for r in records if r.wrapped is not None]
        secrets = self._provider.unwrap(pairs)
        for record, secret in zip(records, secrets, strict=True):
            key = DataKey(record.key_id, record.purpose, record.sequence, secret)
            before = self._held.get(record.key_id)
            if before is not None and before.key == key:
                key = before.key  # the same object: whoever made a cipher of it may keep the cipher
            leased = LeasedKey(key, asked + self._leases.unwrapped_soft)
            held = self._held[record.key_id] = Held(leased, asked + self._leases.unwrapped_hard)
            self._drop_unless_current(record.key_id, held)

    def _drop_unless_current(self, key_id: bytes, held: Held) -> None:
        record = self._records.get(key_id)
        if record is None or not held.is_of(record):
            self._drop(key_id)
