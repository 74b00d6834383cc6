"""Rewrapping: no key is lost, whoever dies, races or is refused in the middle of it."""

import os
import signal
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import kms.key_store
from kms.errors import CannotUnwrapError, KeyVersionRetiredError, MisconfiguredError, UnavailableError
from kms.key_record import KeyRecord, Purpose
from kms.key_store import KeyStore, _replaced
from kms.keyring import Keyring
from kms.provider import Wrapped
from kms.rewrapping import rewrap
from kms.routed_provider import RoutedProvider
from kms.secret import SecretKey
from tests.forkserver import PROCESSES
from tests.kms.racing import race
from tests.kms.rested import end_at_once, retire_and_destroy
from tests.kms.rewrapping_provider import RewrappingProvider
from tests.kms.scripted_provider import ScriptedProvider

DATA = Purpose.DATA


def versions(store: KeyStore) -> list[str]:
    return [r.wrapped.kek_version for r in store.load("main").records if r.wrapped is not None]


def secrets(store: KeyStore, provider: RewrappingProvider | ScriptedProvider) -> list[SecretKey]:
    live = [r for r in store.load("main").records if r.wrapped is not None]
    return provider.unwrap([(r.wrapped, r.context) for r in live if r.wrapped is not None])


@pytest.fixture
def rewrapping(any_store: KeyStore) -> RewrappingProvider:
    """A keyring of four live keys under version 1, and a KEK that was rotated to version 2."""
    provider = RewrappingProvider()
    keyring = Keyring.create(any_store, provider, "main")
    first = keyring.sealing(DATA).key.key_id
    keyring.lifecycle.rotate(DATA)
    keyring.lifecycle.rotate(DATA)
    retire_and_destroy(keyring, any_store.engine, first)
    provider.version = 2
    return provider


def test_every_live_key_is_rewrapped_in_one_call_and_is_the_same_key(
    any_store: KeyStore, rewrapping: RewrappingProvider
) -> None:
    before, state = secrets(any_store, rewrapping), any_store.load("main")
    done = rewrap(any_store, rewrapping, state)
    assert rewrapping.rewraps == [4]
    assert done == [record for record in state.records if record.live]
    assert versions(any_store) == ["2"] * 4
    rewrapping.oldest = 2
    assert secrets(any_store, rewrapping) == before


def test_nothing_else_of_a_row_changes(any_store: KeyStore, rewrapping: RewrappingProvider) -> None:
    """changed_at least of all: it says since when a key rests."""
    before = any_store.load("main").records
    rewrap(any_store, rewrapping, any_store.load("main"))

    def rest(record: KeyRecord) -> tuple[object, ...]:
        return record.key_id, record.purpose, record.sequence, record.state, record.created_at, record.changed_at

    assert [rest(r) for r in any_store.load("main").records] == [rest(r) for r in before]


def rewrap_and_die(url: str) -> None:
    """Killed when two of four rows are written."""
    written: list[object] = []

    def killed(*arguments: Any) -> bool:
        if len(written) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        written.append(arguments)
        return _replaced(*arguments)

    kms.key_store._replaced = killed
    store, provider = KeyStore.from_url(url), RewrappingProvider()
    provider.version = 2
    rewrap(store, provider, store.load("main"))


def test_who_is_killed_half_way_changed_nothing_and_it_is_done_by_calling_again(
    any_store: KeyStore, rewrapping: RewrappingProvider, database_url: str
) -> None:
    before, keys = any_store.load("main"), secrets(any_store, rewrapping)
    process = PROCESSES.Process(target=rewrap_and_die, args=(database_url,))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert any_store.load("main") == before
    assert len(rewrap(any_store, rewrapping, any_store.load("main"))) == 4
    assert versions(any_store) == ["2"] * 4
    assert secrets(any_store, rewrapping) == keys


def test_a_row_that_another_process_rewrapped_meanwhile_stays(
    any_store: KeyStore, rewrapping: RewrappingProvider
) -> None:
    state = any_store.load("main")
    theirs = rewrap(any_store, rewrapping, state)
    stored = any_store.load("main")
    assert len(theirs) == 4
    assert rewrap(any_store, rewrapping, state) == []
    assert any_store.load("main") == stored


def test_a_key_destroyed_meanwhile_stays_destroyed(any_store: KeyStore, rewrapping: RewrappingProvider) -> None:
    state = any_store.load("main")
    resting = next(record for record in state.of(DATA) if record.live)
    rewrapping.in_rewrap = lambda: end_at_once(any_store, state.keyring_id, resting.key_id)
    assert resting.key_id not in {record.key_id for record in rewrap(any_store, rewrapping, state)}
    found = any_store.load("main").find(resting.key_id)
    assert found is not None
    assert not found.live


def test_keys_that_cannot_be_rewrapped_keep_no_other_from_it(
    any_store: KeyStore, rewrapping: RewrappingProvider
) -> None:
    state = any_store.load("main")
    bad = next(record for record in state.of(DATA) if record.live)
    rewrapping.refuse[bad.context] = CannotUnwrapError("changed: restore it")
    with pytest.raises(CannotUnwrapError, match=f"1 of 4 keys are not.*{bad.key_id.hex()}: changed: restore it"):
        rewrap(any_store, rewrapping, state)
    assert any_store.load("main").find(bad.key_id) == bad
    rewrapping.oldest = 3
    with pytest.raises(KeyVersionRetiredError, match=r"4 of 4 keys are not rewrapped: key (\w{8}(, )?){4}: too old$"):
        rewrap(any_store, rewrapping, any_store.load("main"))
    rewrapping.oldest = 1
    assert sorted(versions(any_store)) == ["1", "2", "2", "2"]


def test_an_outage_changes_nothing(any_store: KeyStore, rewrapping: RewrappingProvider) -> None:
    before, rewrapping.fail = any_store.load("main"), UnavailableError("down")
    with pytest.raises(UnavailableError):
        rewrap(any_store, rewrapping, before)
    assert any_store.load("main") == before


def rewrap_in_a_race(wait: Callable[[], object], url: str) -> int:
    provider, store = RewrappingProvider(), KeyStore.from_url(url)
    provider.version = 2
    provider.in_rewrap = lambda: wait() and None  # both were answered before either stores
    return len(Keyring.open(store, provider, "main").lifecycle.rewrap())


def test_two_processes_at_once_rewrap_each_key_once(
    any_store: KeyStore, rewrapping: RewrappingProvider, database_url: str
) -> None:
    before = secrets(any_store, rewrapping)
    assert sorted(race(rewrap_in_a_race, database_url)) == [0, 4]
    rewrapping.oldest = 2
    assert secrets(any_store, rewrapping) == before


class Renamed(ScriptedProvider):
    """One key without versions, that has another name by now, as a key on a token may."""

    name = "old"

    def newest(self) -> tuple[str, str]:
        return self.name, "1"

    def wrap(self, key: SecretKey, context: bytes) -> Wrapped:
        return Wrapped(super().wrap(key, context).ciphertext, *self.newest())

    def unwrap(self, wrapped: Sequence[tuple[Wrapped, bytes]]) -> list[SecretKey]:
        return super().unwrap([(Wrapped(one.ciphertext, self._real.kek, "1"), context) for one, context in wrapped])


def test_a_provider_that_names_its_newest_kek_moves_only_what_is_of_another(store: KeyStore) -> None:
    provider = Renamed()
    keyring = Keyring.create(store, provider, "main")
    provider.batches.clear()
    assert rewrap(store, provider, store.load("main")) == []
    assert provider.batches == []
    before, provider.name = secrets(store, provider), "new"
    keyring.lifecycle.rotate(DATA)
    assert len(rewrap(store, provider, store.load("main"))) == 3
    assert {r.wrapped.kek for r in store.load("main").records if r.wrapped is not None} == {"new"}
    assert secrets(store, provider)[0] == before[0]


class Forgetful(Renamed):
    def wrap(self, key: SecretKey, context: bytes) -> Wrapped:
        return super().wrap(SecretKey(bytes(32)) if self.name == "new" else key, context)


def test_what_the_provider_does_not_give_back_is_not_stored(store: KeyStore) -> None:
    provider = Forgetful()
    Keyring.create(store, provider, "main")
    before, provider.name = store.load("main"), "new"
    with pytest.raises(CannotUnwrapError, match="no key was changed"):
        rewrap(store, provider, before)
    assert store.load("main") == before


class Mistaken(RewrappingProvider):
    """Rewraps, and gives another key for the last one."""

    def rewrap(self, wrapped: Sequence[tuple[Wrapped, bytes]]) -> list[Wrapped]:
        *given, (_, context) = wrapped
        return [*super().rewrap(given), self.wrap(SecretKey(bytes(32)), context)]


def test_other_keys_than_the_service_was_given_are_not_stored(store: KeyStore) -> None:
    provider = Mistaken()
    keyring = Keyring.create(store, provider, "main")
    before, provider.version = store.load("main"), 2
    with pytest.raises(CannotUnwrapError, match="other keys than it was given: no key was changed"):
        rewrap(store, provider, before)
    assert store.load("main") == before
    assert keyring.lifecycle.check() == []


def test_a_provider_that_can_do_neither_says_so(store: KeyStore, provider: ScriptedProvider) -> None:
    Keyring.create(store, provider, "main")
    with pytest.raises(MisconfiguredError, match=r"ScriptedProvider cannot rewrap.*which key.* is its newest"):
        rewrap(store, provider, store.load("main"))


def test_keys_under_a_former_kek_are_not_moved_by_a_rewrap_and_are_named(store: KeyStore) -> None:
    first, former = RewrappingProvider(), ScriptedProvider(bytes([1] * 32))
    keyring = Keyring.create(store, RoutedProvider(first, former), "main")
    data, *_ = keyring.records()
    (key,) = first.unwrap([(record.wrapped, record.context) for record in [data] if record.wrapped is not None])
    store.replace_wrapped([(data, former.wrap(key, data.context))])
    first.version = 2
    with pytest.raises(MisconfiguredError, match=f"1 of 3 .*{data.key_id.hex()}: wrapped by local:.*keys move"):
        keyring.lifecycle.rewrap()
    assert versions(store) == ["1", "2", "2"]
    assert keyring.sealing(DATA).key.secret == key
