"""Key changes: ids are never used twice, and two processes that change keys at once lose none."""

import os
from collections.abc import Callable, Iterator

import pytest

from kms.errors import CannotUnwrapError, KeyringError
from kms.key_changes import KeyChanges, active_key
from kms.key_record import KeyringState, KeyState, Purpose
from kms.key_store import KeyStore
from kms.keyring import Keyring
from tests.kms.racing import race
from tests.kms.rested import retire_and_destroy
from tests.kms.scripted_provider import ScriptedProvider

DATA = Purpose.DATA


@pytest.mark.parametrize("name", ["", "x" * 201])
def test_a_keyring_has_a_name_that_fits(store: KeyStore, provider: ScriptedProvider, name: str) -> None:
    with pytest.raises(KeyringError, match="1 to 200 characters"):
        Keyring.create(store, provider, name)


def repeating(*ids: bytes) -> Callable[[int], bytes]:
    """A source whose key ids are these, and then random."""
    source: Iterator[bytes] = iter(ids)
    return lambda size: next(source, None) or os.urandom(4) if size == 4 else os.urandom(size)


def test_ids_that_repeat_are_drawn_again_tombstones_and_other_keyrings_included(
    any_store: KeyStore, provider: ScriptedProvider
) -> None:
    one = Keyring.create(any_store, provider, "one", random=repeating(b"aaaa", b"aaaa", bytes(4), b"bbbb", b"cccc"))
    assert [r.key_id for r in one.records()] == [b"aaaa", b"bbbb", b"cccc"]
    one.lifecycle.rotate(DATA)
    retire_and_destroy(one, any_store.engine, b"aaaa")
    two = Keyring.create(any_store, provider, "two", random=repeating(b"aaaa", b"xxxx", b"yyyy", b"dddd"))
    assert b"aaaa" not in {r.key_id for r in two.records()}
    three = Keyring.open(any_store, provider, "one", random=repeating(b"dddd", b"aaaa", b"bbbb", b"eeee"))
    new = three.lifecycle.rotate(DATA)
    assert new.key_id not in {b"aaaa", b"bbbb", b"cccc", b"dddd", bytes(4)}
    ids = [r.key_id for name in ("one", "two") for r in any_store.load(name).records]
    assert len(ids) == len(set(ids))


def test_a_source_that_only_repeats_makes_no_keys(store: KeyStore, provider: ScriptedProvider) -> None:
    with pytest.raises(KeyringError, match="broken"):
        Keyring.create(store, provider, "main", random=lambda size: b"a" * size)
    assert store.names() == []


def rotate_in_a_race(wait: Callable[[], object], url: str) -> bytes:
    keyring = Keyring.open(KeyStore.from_url(url), ScriptedProvider(), "main")
    wait()
    return keyring.lifecycle.rotate(DATA).key_id


def test_two_processes_that_rotate_at_once_lose_no_key(
    any_store: KeyStore, provider: ScriptedProvider, database_url: str
) -> None:
    keyring = Keyring.create(any_store, provider, "main")
    old = keyring.sealing(DATA).key
    answers = race(rotate_in_a_race, database_url)
    records = keyring.records(DATA)
    assert [r.sequence for r in records] == list(range(1, len(records) + 1))
    assert [r.state for r in records] == [KeyState.DEACTIVATED] * (len(records) - 1) + [KeyState.ACTIVE]
    assert set(answers) == {r.key_id for r in records} - {old.key_id}
    assert keyring.warm() == {r.key_id for r in keyring.records()}


def test_a_rotation_elsewhere_while_we_wrap_is_the_answer(any_store: KeyStore, provider: ScriptedProvider) -> None:
    changes, others = KeyChanges(any_store, provider), KeyChanges(any_store, provider)
    changes.create("main")
    reads: list[KeyringState] = []

    def read() -> KeyringState:
        reads.append(any_store.load("main"))
        if len(reads) == 2:
            others.rotate(lambda: any_store.load("main"), DATA)
        return reads[-1]

    won = changes.rotate(read, DATA)
    assert len(reads) == 3
    assert won == any_store.load("main").active(DATA)
    assert [r.sequence for r in any_store.load("main").of(DATA)] == [1, 2]


def test_another_kek_makes_no_key_that_the_others_do_not_open(store: KeyStore, provider: ScriptedProvider) -> None:
    keyring = Keyring.create(store, provider, "main")
    wrong = Keyring.open(store, ScriptedProvider(b"x" * 32), "main")
    for change in (wrong.lifecycle.rotate, wrong.lifecycle.prepare):
        with pytest.raises(CannotUnwrapError, match="give the right key file"):
            change(DATA)
    assert [r.sequence for r in keyring.records(DATA)] == [1]


def test_a_waiting_key_that_does_not_open_is_not_made_active(store: KeyStore, provider: ScriptedProvider) -> None:
    keyring = Keyring.create(store, provider, "main")
    waiting = keyring.lifecycle.prepare(DATA)
    provider.refuse[waiting.context] = CannotUnwrapError("changed")
    with pytest.raises(CannotUnwrapError):
        keyring.lifecycle.rotate(DATA)
    assert keyring.sealing(DATA).key.sequence == 1


def test_a_store_that_never_takes_the_key_is_given_up(store: KeyStore, provider: ScriptedProvider) -> None:
    changes = KeyChanges(store, provider)
    changes.create("main")
    store.activate = lambda record, instead_of: False  # type: ignore[method-assign]
    store.add = lambda record: False  # type: ignore[method-assign]
    store.create_keyring = lambda state: False  # type: ignore[method-assign]
    for change in (changes.rotate, changes.prepare):
        with pytest.raises(KeyringError, match="keep changing: try again"):
            change(lambda: store.load("main"), DATA)
    with pytest.raises(KeyringError, match="ids that are taken"):
        changes.create("other")


def test_a_purpose_without_an_active_key_is_told_as_such() -> None:
    with pytest.raises(KeyringError, match="no active data key"):
        active_key(KeyringState(bytes(16), "main", ()), DATA)
