"""Keyring: the data keys of one tenant, opened when needed, forgotten when their lease ends."""

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Final, NoReturn, SupportsIndex

from kms.data_key import DataKey, LeasedKey
from kms.errors import KeyringError, KmsError, UnknownKeyIdError
from kms.fork import forget_in_child
from kms.key_changes import KeyChanges, active_key
from kms.key_record import KeyRecord, KeyringState, Purpose, ended_error
from kms.key_store import KeyStore
from kms.lease import Clock, LeaseSettings, boottime_clock
from kms.leases_beside import LeasesBeside
from kms.lifecycle import KeyLifecycle
from kms.new_key import RandomBytes
from kms.one_way_clock import OneWayClock, one_way
from kms.provider import KeyProvider
from kms.refresh import Refresh, RefreshParts
from kms.refresher import RefreshBy, Refresher
from kms.seal_counter import SealCounter
from kms.state_lease import StateLease
from kms.unknown_ids import UnknownIds
from kms.unwrapped import LEFT_OUT, Held, UnwrappedKeys

__all__ = ["Keyring"]

DEFAULT_LEASES: Final = LeaseSettings()
FIRST_SEQUENCE: Final = 1


class Keyring:
    """Opened by Keyring.open() in each process; shared by its threads; a forked child opens its keys anew.

    From the first use of a key, a thread of its own asks the store and the key service before its leases end, so that
    no caller waits for them. It ends with close(), or when nobody has the keyring any more.
    lifecycle: the operator's side, which makes, rotates, rewraps, retires and destroys keys. beside: leases of others.
    leases: how long it goes on without news.
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
        refresh: RefreshBy | bool,
    ) -> None:
        """Use Keyring.open() or Keyring.create()."""
        store.check_schema()
        found = store.load(name)
        self.name: str = name
        self.id: bytes = found.keyring_id
        self.clock: Callable[[], float] = one_way(clock, self._end_all)
        self._store = store
        self._provider = provider
        self.leases: LeaseSettings = leases
        self._closed = False
        self._sealing: dict[Purpose, LeasedKey] = {}
        self._sealed: set[Purpose] = set()
        self._unwrapped = UnwrappedKeys(
            name, provider, leases, self.clock, attended=self._attended, newer=self._stored_otherwise
        )
        self._unknown = UnknownIds(self.clock)
        self._lease = StateLease(
            lambda: store.load_again(self.id), leases, self.clock, self._on_news, attended=self._attended
        )
        self._counter = SealCounter(store.engine, self._on_low)
        by = refresh if isinstance(refresh, RefreshBy) else RefreshBy()
        self.beside: LeasesBeside = LeasesBeside(leases, self.clock, by.jitter, self._attended)
        reading, kept = (self._reload, self._end_sealing, self._sealed), self.beside
        parts = RefreshParts(self._lease, self._unwrapped, self._counter, *reading, kept.renew, self._is_closed)
        self._refresh = Refresh(name, leases, self.clock, by.jitter, parts)
        self._refresher = Refresher(self._refresh.step, name, by.bell, enabled=refresh is not False)
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
        refresh: RefreshBy | bool = True,
    ) -> "Keyring":
        """Make a keyring with one ACTIVE key for each purpose, store it and open it.

        Raises: KeyringError if the name is taken, KmsError.
        """
        KeyChanges(store, provider, random).create(name)
        return cls(store, provider, name, leases=leases, clock=clock, random=random, refresh=refresh)

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
        refresh: RefreshBy | bool = True,
    ) -> "Keyring":
        """The keyring of that name. Reads the store; no key is unwrapped before it is needed (or see warm()).

        refresh: whether a thread renews the leases; without it, the caller that finds one due does.
        Raises: KeyringError if there is none, SchemaVersionError, UnavailableError.
        """
        return cls(store, provider, name, leases=leases, clock=clock, random=random, refresh=refresh)

    def sealing(self, purpose: Purpose) -> LeasedKey:
        """The ACTIVE key of a purpose, to be asked for again at .until of this keyring's clock.

        While another thread asks for news, .until may have passed already: the key is good for the call at hand.

        Raises: LeaseExpiredError if the store could not be read within the sealing lease, KmsError.
        """
        held = self._sealing.get(purpose)
        if held is not None and self.clock() < held.until:
            return held
        cache = self._sealing
        self._require_open()
        record = active_key(self._lease.for_sealing()[0], purpose)
        self._sealed.add(purpose)
        while True:  # once, and once more for each rotation meanwhile
            unwrapped = self._open(record)
            state, refresh_at = self._lease.for_sealing()  # asked last: the key service may have had to be waited for
            before, record = record, active_key(state, purpose)
            if record.key_id == before.key_id:
                break
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

    def warm(self, labels: Iterable[str] = ()) -> frozenset[bytes]:
        """Open every live key, in as few calls as may be, and tell the ids of those that open.

        A key that does not authenticate is left out. labels: "table.column" of fields whose seals to count ahead.
        Raises: KmsError when the service refuses altogether.
        """
        live = [record for record in self._reload().records if record.live]
        failures = self._unwrapped.open_all(live)
        for failure in failures.values():
            if not isinstance(failure, LEFT_OUT):
                raise failure
        active = self._lease.state.active(Purpose.DATA)
        if labels and active is not None:
            self._counter.top_up(self._refresh.successor, labels, active.key_id)
        self._require_open()
        self._refresher.begin()
        return frozenset(record.key_id for record in live if self._unwrapped.peek(record.key_id) is not None)

    async def warm_async(self, labels: Iterable[str] = ()) -> frozenset[bytes]:
        """As warm, while the event loop goes on: await it once, before the loop's first use of the keyring."""
        return await asyncio.to_thread(self.warm, labels)

    def close(self) -> None:
        """End the thread and forget the keys; whoever uses the keyring afterwards gets KeyringError."""
        self._closed = True
        self._refresher.close()
        self._end_all()
        self._unwrapped.on_news(())

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
        self._sealed.clear()
        if isinstance(self.clock, OneWayClock):
            self.clock.forget_after_fork()
        self._unwrapped.forget_after_fork()
        self._unwrapped.on_news(self._lease.state.records)
        self._unknown.forget_after_fork()
        self._lease.forget_after_fork()
        self._refresh.forget_after_fork()

    def __repr__(self) -> str:
        return f"Keyring({self.name!r}, id={self.id.hex()})"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a Keyring is never pickled or copied: open it in the other process")

    def _reload(self, enough: Callable[[KeyringState], bool] = lambda _: False) -> KeyringState:
        self._require_open()
        state = self._lease.reload(enough)
        self._end_sealing()
        return state

    def _is_closed(self) -> bool:
        return self._closed

    def _require_open(self) -> None:
        if self._closed:
            raise KeyringError(f"keyring {self.name!r} was closed: open it again")

    def _end_sealing(self) -> None:
        before, self._sealing = self._sealing, {}
        for leased in before.values():
            leased.end()

    def _end_all(self) -> None:
        """Whatever was asked for may be too old."""
        self._lease.end()
        self.beside.end()
        self._unwrapped.end_all()
        self._unknown.forget_after_fork()
        self._end_sealing()

    def _attended(self) -> bool:
        return self._refresher.attending()

    def _on_low(self) -> None:
        self._refresher.ring()

    def _on_news(self, state: KeyringState) -> None:
        self._unwrapped.on_news(state.records)
        if self._closed:  # while it was read: nothing is held any more
            self._unwrapped.on_news(())

    def _live(self, purpose: Purpose, key_id: bytes) -> KeyRecord:
        self._require_open()
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
        try:
            held = self._unwrapped.get(record)
        except KmsError:
            self._require_open()  # closed meanwhile: that is what is told, and nothing of the key
            raise
        self._refresher.begin()
        return held

    def _stored_otherwise(self, records: Sequence[KeyRecord]) -> list[KeyRecord]:
        """Those of the records whose bytes were exchanged by a rewrap, as the store has them."""
        state = None
        with suppress(KmsError):  # then the refusal stands, and it is what the caller is told
            state = self._reload(lambda state: any(state.find(record.key_id) != record for record in records))
        found = [] if state is None else [(record, state.find(record.key_id)) for record in records]
        return [now for record, now in found if now is not None and now.live and now.wrapped != record.wrapped]
