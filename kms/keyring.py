"""Keyring: the data keys of one tenant, opened when needed, forgotten when their lease ends."""

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NoReturn, SupportsIndex

from kms.data_key import DataKey, LeasedKey
from kms.errors import (
    CannotUnwrapError,
    KeyDestroyedError,
    KeyDisabledError,
    KeyNotFoundError,
    KeyRetiredError,
    KeyringError,
    KeyVersionRetiredError,
    UnavailableError,
    UnknownKeyIdError,
)
from kms.fork import forget_in_child
from kms.key_changes import KeyChanges, active_key
from kms.key_record import KeyRecord, KeyringState, Purpose, ended_error
from kms.key_store import KeyStore
from kms.lease import Clock, LeaseSettings, boottime_clock
from kms.lifecycle import KeyLifecycle
from kms.new_key import RandomBytes
from kms.provider import KeyProvider
from kms.seal_counter import SealCounter
from kms.state_lease import StateLease
from kms.unknown_ids import UnknownIds
from kms.unwrapped import Held, UnwrappedKeys

__all__ = ["Keyring"]

DEFAULT_LEASES: Final = LeaseSettings()
FIRST_SEQUENCE: Final = 1
# What a key service says of wrapped bytes whose KEK, or KEK version, was taken away after a rewrap.
MAY_BE_REWRAPPED: Final = (CannotUnwrapError, KeyDisabledError, KeyNotFoundError, KeyVersionRetiredError)


class Keyring:
    """Opened by Keyring.open() in each process; shared by its threads; a forked child opens its keys anew.

    lifecycle: the operator's side, which makes, rotates, rewraps, retires and destroys keys.
    """

    def __init__(
        self,
        store: KeyStore,
        provider: KeyProvider,
        name: str,
        *,
        leases: LeaseSettings,
        clock: Clock,
        random: RandomBytes,
    ) -> None:
        """Use Keyring.open() or Keyring.create()."""
        store.check_schema()
        found = store.load(name)
        self.name: str = name
        self.id: bytes = found.keyring_id
        self.clock: Callable[[], float] = clock
        self._store = store
        self._provider = provider
        self._leases = leases
        self._sealing: dict[Purpose, LeasedKey] = {}
        self._unwrapped = UnwrappedKeys(name, provider, leases, clock)
        self._unknown = UnknownIds(clock)
        self._lease = StateLease(lambda: store.load_again(self.id), leases, clock, self._on_news)
        self._counter = SealCounter(store.engine)
        self.lifecycle: KeyLifecycle = KeyLifecycle(store, provider, self._reload, leases, random)
        forget_in_child(self)

    @classmethod
    def create(
        cls,
        store: KeyStore,
        provider: KeyProvider,
        name: str,
        *,
        random: RandomBytes = os.urandom,
        leases: LeaseSettings = DEFAULT_LEASES,
        clock: Clock = boottime_clock,
    ) -> "Keyring":
        """Make a keyring with one ACTIVE key for each purpose, store it and open it.

        Raises: KeyringError if the name is taken, KmsError.
        """
        KeyChanges(store, provider, random).create(name)
        return cls(store, provider, name, leases=leases, clock=clock, random=random)

    @classmethod
    def open(
        cls,
        store: KeyStore,
        provider: KeyProvider,
        name: str,
        *,
        leases: LeaseSettings = DEFAULT_LEASES,
        clock: Clock = boottime_clock,
        random: RandomBytes = os.urandom,
    ) -> "Keyring":
        """The keyring of that name. Reads the store; no key is unwrapped before it is needed (or see warm()).

        Raises: KeyringError if there is none, SchemaVersionError, UnavailableError.
        """
        return cls(store, provider, name, leases=leases, clock=clock, random=random)

    def sealing(self, purpose: Purpose) -> LeasedKey:
        """The ACTIVE key of a purpose, to be asked for again at .until of this keyring's clock.

        While another thread asks for news, .until may have passed already: the key is good for the call at hand.

        Raises: LeaseExpiredError if the store could not be read within the sealing lease, KmsError.
        """
        held = self._sealing.get(purpose)
        if held is not None and self.clock() < held.until:
            return held
        cache = self._sealing
        state, refresh_at = self._lease.for_sealing()
        unwrapped = self._open(active_key(state, purpose))
        sealing = cache[purpose] = LeasedKey(unwrapped.key, min(refresh_at, unwrapped.soft))
        if cache is not self._sealing:  # the state was read again meanwhile: good for the call at hand only
            sealing.end()
        return sealing

    def opening(self, purpose: Purpose, key_id: bytes) -> DataKey:
        """The key that a stored value names, if it is of this purpose; no other is ever tried.

        An id that is not known waits for one reading of the store, then is unknown for 5 seconds.
        Raises: UnknownKeyIdError, KeyDestroyedError, KmsError.
        """
        return self.opening_lease(purpose, key_id).key

    def opening_lease(self, purpose: Purpose, key_id: bytes) -> LeasedKey:
        """As opening, with the moment until which the key may be used without asking again."""
        held = self._unwrapped.peek(key_id)
        if held is not None and held.key.purpose is purpose and self.clock() < held.soft:
            return held.leased
        return self._open(self._live(purpose, key_id)).leased

    def first(self, purpose: Purpose) -> DataKey:
        """The key with sequence 1: what must stay the same over rotations is keyed by it."""
        records = self._lease.state.of(purpose)
        if not records or records[0].sequence != FIRST_SEQUENCE:
            raise KeyringError(f"keyring {self.name!r} has no first {purpose} key: its store was changed by hand")
        return self.opening(purpose, records[0].key_id)

    def records(self, purpose: Purpose | None = None) -> list[KeyRecord]:
        """What the store has now, tombstones included, by purpose and sequence. Raises: UnavailableError."""
        state = self._reload()
        return list(state.records if purpose is None else state.of(purpose))

    def warm(self) -> frozenset[bytes]:
        """Open every live key, in as few calls as may be, and tell the ids of those that open.

        A key that does not authenticate is left out. Raises: KmsError when the service refuses altogether.
        """
        live = [record for record in self._reload().records if record.live]
        try:
            self._unwrapped.open_all(live)
        except (CannotUnwrapError, KeyVersionRetiredError, UnavailableError):
            return frozenset(record.key_id for record in live if self._opens(record))
        return frozenset(record.key_id for record in live)

    def reserve_seals(self, key_id: bytes, label: str, n: int) -> None:
        """Count n seals under a key before they are made; label is "table.column".

        Raises: SealLimitError at 2**32 a key and label, UnavailableError.
        """
        self._counter.reserve(key_id, label, n)

    def seal_counts(self) -> dict[tuple[bytes, str], int]:
        """The counted seals of this keyring's keys by key id and label: never fewer than were made."""
        ours = {record.key_id for record in self._lease.state.records}
        return {place: count for place, count in self._counter.counts().items() if place[0] in ours}

    def forget_after_fork(self) -> None:
        """The child opens its keys itself."""
        self._sealing = {}
        self._unwrapped.forget_after_fork()
        self._unwrapped.on_news(self._lease.state.records)
        self._unknown.forget_after_fork()
        self._lease.forget_after_fork()

    def __repr__(self) -> str:
        return f"Keyring({self.name!r}, id={self.id.hex()})"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a Keyring is never pickled or copied: open it in the other process")

    def _reload(self, enough: Callable[[KeyringState], bool] = lambda _: False) -> KeyringState:
        state = self._lease.reload(enough)
        before, self._sealing = self._sealing, {}
        for leased in before.values():
            leased.end()
        return state

    def _on_news(self, state: KeyringState) -> None:
        self._unwrapped.on_news(state.records)

    def _live(self, purpose: Purpose, key_id: bytes) -> KeyRecord:
        record = self._lease.for_opening().find(key_id)
        if record is None and not self._unknown.is_known_unknown(key_id):
            record = self._reload(lambda state: state.find(key_id) is not None).find(key_id)
            if record is None:
                self._unknown.remember(key_id)
        if record is None or record.purpose is not purpose:
            raise UnknownKeyIdError(self.name, key_id, purpose.value)
        if not record.live:
            raise ended_error(self.name, record)
        return record

    def _open(self, record: KeyRecord) -> Held:
        """The record's key; if its wrapped bytes are refused, by those that a rewrap may have put there meanwhile."""
        try:
            return self._unwrapped.get(record)
        except MAY_BE_REWRAPPED as error:
            refused = error
        with suppress(UnavailableError):
            found = self._reload(lambda state: state.find(record.key_id) != record).find(record.key_id)
            if found is not None and found.live and found.wrapped != record.wrapped:
                return self._unwrapped.get(found)
        raise refused

    def _opens(self, record: KeyRecord) -> bool:
        try:
            self._unwrapped.get(record)
        except (CannotUnwrapError, KeyVersionRetiredError, KeyDestroyedError, KeyRetiredError):
            return False
        return True
