"""The lifecycle: rotated, prepared, rewrapped, checked and destroyed keys."""

import pytest

from kms.errors import CannotUnwrapError, KeyringError
from kms.key_record import KeyState, Purpose
from kms.key_store import KeyStore
from kms.keyring import Keyring
from tests.kms.rested import let_rest
from tests.kms.rewrapping_provider import RewrappingProvider
from tests.kms.scripted_provider import ScriptedProvider

DATA = Purpose.DATA


def test_a_key_that_others_may_still_seal_with_is_not_destroyed(
    keyring: Keyring, elsewhere: Keyring, store: KeyStore
) -> None:
    old = elsewhere.sealing(DATA).key
    keyring.lifecycle.rotate(DATA)
    with pytest.raises(KeyringError, match="deactivated less than 180 seconds ago"):
        keyring.lifecycle.destroy(old.key_id)
    assert elsewhere.sealing(DATA).key == old
    let_rest(store.engine)
    keyring.lifecycle.destroy(old.key_id)
    keyring.lifecycle.destroy(keyring.lifecycle.prepare(DATA).key_id)


def test_a_key_can_be_prepared_before_it_seals(keyring: Keyring, elsewhere: Keyring) -> None:
    waiting = keyring.lifecycle.prepare(DATA)
    assert waiting.state is KeyState.PRE_ACTIVE
    assert keyring.sealing(DATA).key.sequence == 1
    assert elsewhere.opening(DATA, waiting.key_id).sequence == 2
    assert keyring.lifecycle.rotate(DATA).key_id == waiting.key_id
    assert keyring.sealing(DATA).key.key_id == waiting.key_id
    assert keyring.lifecycle.rotate(DATA).sequence == 3


def test_the_first_ledger_key_is_never_destroyed(keyring: Keyring, store: KeyStore) -> None:
    first = keyring.first(Purpose.LEDGER).key_id
    second = keyring.lifecycle.rotate(Purpose.LEDGER).key_id
    keyring.lifecycle.rotate(Purpose.LEDGER)
    let_rest(store.engine)
    with pytest.raises(KeyringError, match="first ledger key"):
        keyring.lifecycle.destroy(first)
    keyring.lifecycle.destroy(second)
    assert keyring.first(Purpose.LEDGER).key_id == first


def test_a_check_asks_for_the_stored_bytes_whatever_is_held(keyring: Keyring, provider: ScriptedProvider) -> None:
    held = keyring.sealing(DATA).key
    assert keyring.lifecycle.check() == []
    (record,) = keyring.records(DATA)
    provider.refuse[record.context] = CannotUnwrapError("changed")
    ((found, error),) = keyring.lifecycle.check()
    assert found == record
    assert str(error) == "changed"
    assert keyring.sealing(DATA).key == held


def test_a_check_leaves_tombstones_out(keyring: Keyring, store: KeyStore, provider: ScriptedProvider) -> None:
    old = keyring.sealing(DATA).key.key_id
    keyring.lifecycle.rotate(DATA)
    let_rest(store.engine)
    keyring.lifecycle.destroy(old)
    provider.batches.clear()
    assert keyring.lifecycle.check() == []
    assert provider.batches == [3]


def test_a_rewrap_gives_the_keys_as_they_are_now(store: KeyStore) -> None:
    provider = RewrappingProvider()
    keyring = Keyring.create(store, provider, "main")
    key, provider.version = keyring.sealing(DATA).key, 2
    assert keyring.lifecycle.rewrap() == keyring.records()
    assert [r.wrapped.kek_version for r in keyring.records() if r.wrapped is not None] == ["2"] * 3
    assert keyring.sealing(DATA).key == key
