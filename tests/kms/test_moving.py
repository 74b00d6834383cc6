"""Moving to another KEK: services go on, no key is lost, whoever dies, races or is refused in the middle of it."""

import os
import signal
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import kms.key_store
from kms.errors import CannotUnwrapError, KmsError, UnavailableError
from kms.key_record import Purpose
from kms.key_store import KeyStore, _replaced
from kms.keyring import Keyring
from kms.moving import move
from kms.provider import Wrapped
from kms.routed_provider import RoutedProvider
from kms.secret import SecretKey
from tests.forkserver import PROCESSES
from tests.kms.manual_clock import ManualClock
from tests.kms.racing import race
from tests.kms.rested import end_at_once, retire_and_destroy
from tests.kms.scripted_provider import ScriptedProvider

DATA = Purpose.DATA
OLD, NEW = bytes(32), bytes([1] * 32)


class Target(ScriptedProvider):
    """refused: raised by wrap while set. in_wrap: run before each wrap answers. forgets: gives back another key."""

    def __init__(self, kek: bytes = NEW) -> None:
        super().__init__(kek)
        self.refused: KmsError | None = None
        self.in_wrap: Callable[[], object] = lambda: None
        self.forgets = False

    def wrap(self, key: SecretKey, context: bytes) -> Wrapped:
        if self.refused is not None:
            raise self.refused
        self.in_wrap()
        return super().wrap(SecretKey(bytes(32)) if self.forgets else key, context)


@pytest.fixture
def to() -> Target:
    return Target()


@pytest.fixture
def old(any_store: KeyStore) -> ScriptedProvider:
    """A keyring of four live keys and a tombstone under the old KEK."""
    provider = ScriptedProvider(OLD)
    keyring = Keyring.create(any_store, provider, "main")
    first = keyring.sealing(DATA).key.key_id
    keyring.lifecycle.rotate(DATA)
    keyring.lifecycle.rotate(DATA)
    retire_and_destroy(keyring, any_store.engine, first)
    return provider


def keks(store: KeyStore) -> list[str]:
    return [record.wrapped.kek for record in store.load("main").records if record.wrapped is not None]


def secrets(store: KeyStore, *providers: ScriptedProvider) -> list[SecretKey]:
    live = [record for record in store.load("main").records if record.live]
    return RoutedProvider(*providers).unwrap([(r.wrapped, r.context) for r in live if r.wrapped is not None])


def test_every_live_key_is_under_the_new_kek_and_is_the_same_key(
    any_store: KeyStore, old: ScriptedProvider, to: Target
) -> None:
    before, state = secrets(any_store, old), any_store.load("main")
    assert move(any_store, old, to, state) == [record for record in state.records if record.live]
    assert keks(any_store) == [to.wrap(before[0], b"").kek] * 4
    assert secrets(any_store, to) == before
    after = any_store.load("main")
    assert [(r.key_id, r.state, r.changed_at) for r in after.records] == [
        (r.key_id, r.state, r.changed_at) for r in state.records
    ]
    assert move(any_store, to, to, after) == []
    assert any_store.load("main") == after


def test_a_keyring_half_under_one_and_half_under_another_is_moved_whole_either_way(
    any_store: KeyStore, old: ScriptedProvider, to: Target
) -> None:
    before, state = secrets(any_store, old), any_store.load("main")
    half = [record for record in state.records if record.live][:2]
    given = [to.wrap(key, record.context) for key, record in zip(before, half, strict=False)]
    assert len(any_store.replace_wrapped(list(zip(half, given, strict=True)))) == 2
    moved_there = any_store.load("main")
    assert len(move(any_store, old, to, moved_there)) == 2
    assert secrets(any_store, to) == before
    assert len(move(any_store, RoutedProvider(old, to), old, any_store.load("main"))) == 4
    assert secrets(any_store, old) == before


def move_and_die(url: str) -> None:
    """Killed when two of four rows are written."""
    written: list[object] = []

    def killed(*arguments: Any) -> bool:
        if len(written) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        written.append(arguments)
        return _replaced(*arguments)

    kms.key_store._replaced = killed
    store = KeyStore.from_url(url)
    move(store, ScriptedProvider(OLD), Target(), store.load("main"))


def test_who_is_killed_half_way_changed_nothing_and_it_is_done_by_calling_again(
    any_store: KeyStore, old: ScriptedProvider, to: Target, database_url: str
) -> None:
    before, keys = any_store.load("main"), secrets(any_store, old)
    process = PROCESSES.Process(target=move_and_die, args=(database_url,))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert any_store.load("main") == before
    assert len(move(any_store, old, to, any_store.load("main"))) == 4
    assert secrets(any_store, to) == keys


def move_in_a_race(wait: Callable[[], object], url: str) -> int:
    to, store = Target(), KeyStore.from_url(url)
    waited: list[object] = []
    to.in_wrap = lambda: None if waited else waited.append(wait())  # both have read before either stores
    return len(Keyring.open(store, ScriptedProvider(OLD), "main").lifecycle.move(to))


def test_two_processes_at_once_move_each_key_once(
    any_store: KeyStore, old: ScriptedProvider, to: Target, database_url: str
) -> None:
    before = secrets(any_store, old)
    assert sorted(race(move_in_a_race, database_url)) == [0, 4]
    assert secrets(any_store, to) == before


@pytest.mark.parametrize("who", ["old", "wrap", "verify", "forgets"])
def test_a_failure_of_either_service_leaves_what_was(store: KeyStore, to: Target, who: str) -> None:
    old = ScriptedProvider(OLD)
    keyring = Keyring.create(store, old, "main")
    before, down = store.load("main"), UnavailableError("down")
    match who:
        case "old":
            old.fail = down
        case "wrap":
            to.refused = down
        case "verify":
            to.fail = down
        case "forgets":
            to.forgets = True
    with pytest.raises(CannotUnwrapError if who == "forgets" else UnavailableError):
        keyring.lifecycle.move(to)
    assert store.load("main") == before


def test_a_key_that_does_not_unwrap_keeps_no_other_and_is_named(store: KeyStore, to: Target) -> None:
    old = ScriptedProvider(OLD)
    keyring = Keyring.create(store, old, "main")
    bad, *_ = keyring.records()
    old.refuse[bad.context] = CannotUnwrapError("changed: restore it")
    with pytest.raises(CannotUnwrapError, match=f"1 of 3 keys are not moved, the others are: key {bad.key_id.hex()}"):
        keyring.lifecycle.move(to)
    assert store.load("main").find(bad.key_id) == bad
    assert len(set(keks(store))) == 2


def test_a_key_destroyed_meanwhile_stays_destroyed(any_store: KeyStore, old: ScriptedProvider, to: Target) -> None:
    state = any_store.load("main")
    resting = next(record for record in state.of(DATA) if record.live)
    ended: list[bytes] = []

    def end() -> None:
        if not ended:
            ended.append(resting.key_id)
            end_at_once(any_store, state.keyring_id, resting.key_id)

    to.in_wrap = end
    assert resting.key_id not in {record.key_id for record in move(any_store, old, to, state)}
    found = any_store.load("main").find(resting.key_id)
    assert found is not None
    assert not found.live


class TwoNames(Target):
    """An alias that another operator lets name a second key while keys are moved to it."""

    wraps = 0

    def wrap(self, key: SecretKey, context: bytes) -> Wrapped:
        self.wraps += 1
        return super().wrap(key, context) if self.wraps < 3 else self.other.wrap(key, context)

    def unwrap(self, wrapped: Sequence[tuple[Wrapped, bytes]]) -> list[SecretKey]:
        return RoutedProvider(self._real, self.other).unwrap(wrapped)

    def __init__(self) -> None:
        super().__init__()
        self.other = ScriptedProvider(bytes([2] * 32))


def test_an_alias_that_moves_meanwhile_is_recorded_as_it_was(any_store: KeyStore, old: ScriptedProvider) -> None:
    to, before = TwoNames(), secrets(any_store, old)
    assert len(move(any_store, old, to, any_store.load("main"))) == 4
    assert len(set(keks(any_store))) == 2
    assert secrets(any_store, to, to.other) == before


def test_a_service_that_was_told_goes_on_and_one_that_was_not_fails_by_name_within_its_lease(
    store: KeyStore, to: Target, clock: ManualClock
) -> None:
    old = ScriptedProvider(OLD)
    operator = Keyring.create(store, old, "main", clock=clock, refresh=False)
    told = Keyring.open(store, RoutedProvider(old, to), "main", clock=clock, refresh=False)
    untold = Keyring.open(store, RoutedProvider(old), "main", clock=clock, refresh=False)
    key = told.sealing(DATA).key
    assert untold.sealing(DATA).key == key
    operator.lifecycle.move(to)
    new = to.wrap(SecretKey(bytes(32)), b"").kek
    for _ in range(5):
        clock.advance(59)  # 295 s: within the soft lease of what is held
        assert untold.sealing(DATA).key == told.sealing(DATA).key == key
        assert untold.opening(DATA, key.key_id) == key
    clock.advance(10)
    for ask in (lambda: untold.sealing(DATA), lambda: untold.opening(DATA, key.key_id)):
        with pytest.raises(CannotUnwrapError, match=rf"wrapped by {new}, which is none .*name it under kek_former"):
            ask()
    assert told.sealing(DATA).key == key
    clock.advance(3600)
    old.fail = UnavailableError("switched off")
    assert told.sealing(DATA).key == key
    assert Keyring.open(store, RoutedProvider(to), "main", clock=clock, refresh=False).opening(DATA, key.key_id) == key


def test_a_service_that_still_has_the_old_bytes_reads_the_new_ones_when_the_old_kek_is_gone(
    store: KeyStore, to: Target, clock: ManualClock
) -> None:
    old = ScriptedProvider(OLD)
    keyring = Keyring.create(store, old, "main", clock=clock, refresh=False)
    slow = Keyring.open(store, RoutedProvider(to, old), "main", clock=clock, refresh=False)
    keyring.lifecycle.move(to)
    old.fail = CannotUnwrapError("the KEK was removed")
    assert slow.sealing(DATA).key.key_id == keyring.records(DATA)[0].key_id
