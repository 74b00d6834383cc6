"""The lifecycle: rotated, prepared, closed, rewrapped, checked, retired, restored and destroyed keys."""

from datetime import UTC, datetime, timedelta

import pytest

from kms.errors import (
    CannotUnwrapError,
    KeyDestroyedError,
    KeyRetiredError,
    KeyringClosedError,
    KeyringError,
    UnavailableError,
)
from kms.key_record import KeyRecord, KeyringState, KeyState, Purpose
from kms.key_store import KeyStore
from kms.keyring import Keyring
from kms.rotation_due import RotationDue
from tests.kms.manual_clock import ManualClock
from tests.kms.rested import let_rest, let_time_pass, retire_and_destroy
from tests.kms.rewrapping_provider import RewrappingProvider
from tests.kms.scripted_provider import ScriptedProvider

DATA = Purpose.DATA


def test_a_key_that_others_may_still_seal_with_is_not_retired(
    keyring: Keyring, elsewhere: Keyring, store: KeyStore
) -> None:
    old, looked = elsewhere.sealing(DATA).key, list[KeyRecord]()
    keyring.lifecycle.rotate(DATA)
    with pytest.raises(KeyringError, match="less than 180 seconds ago"):
        keyring.lifecycle.retire(old.key_id, look=looked.append)
    assert looked == [], "what still names the key is counted once nobody seals with it any more"
    assert elsewhere.sealing(DATA).key == old
    let_rest(store.engine)
    retired = keyring.lifecycle.retire(old.key_id, look=looked.append)
    assert [record.key_id for record in looked] == [old.key_id]
    assert retired.destroy_after == retired.changed_at + timedelta(days=30)
    keyring.lifecycle.retire(keyring.lifecycle.prepare(DATA).key_id)


def test_a_retired_key_opens_nothing_until_it_is_restored(
    keyring: Keyring, elsewhere: Keyring, store: KeyStore, clock: ManualClock
) -> None:
    old = elsewhere.sealing(DATA).key
    keyring.lifecycle.rotate(DATA)
    let_rest(store.engine)
    keyring.lifecycle.retire(old.key_id)
    with pytest.raises(KeyRetiredError, match=f"keys restore {old.key_id.hex()}"):
        keyring.opening(DATA, old.key_id)
    assert old.key_id not in keyring.warm()
    clock.advance(299)
    assert elsewhere.opening(DATA, old.key_id) == old, "it is held for its soft lease"
    clock.advance(1)
    with pytest.raises(KeyRetiredError):
        elsewhere.opening(DATA, old.key_id)
    assert keyring.lifecycle.restore(old.key_id).state is KeyState.DEACTIVATED
    assert keyring.opening(DATA, old.key_id) == old
    clock.advance(180)
    assert elsewhere.opening(DATA, old.key_id) == old


def test_a_process_that_cannot_read_the_store_opens_by_a_retired_key_until_its_leases_end(
    keyring: Keyring, store: KeyStore, provider: ScriptedProvider, clock: ManualClock
) -> None:
    old, cut_off = keyring.sealing(DATA).key, KeyStore(store.engine)
    elsewhere = Keyring.open(cut_off, provider, "main", clock=clock, refresh=False)
    keyring.lifecycle.rotate(DATA)
    let_rest(store.engine)
    keyring.lifecycle.retire(old.key_id)

    def unavailable(keyring_id: bytes) -> KeyringState:
        raise UnavailableError("the key store does not answer")

    cut_off.load_again = unavailable  # type: ignore[method-assign]
    clock.advance(3599)
    assert elsewhere.opening(DATA, old.key_id) == old
    clock.advance(299)
    assert elsewhere.opening(DATA, old.key_id) == old
    clock.advance(1)
    with pytest.raises(UnavailableError):
        elsewhere.opening(DATA, old.key_id)


def test_a_key_is_destroyed_after_its_waiting_period_if_nothing_was_found(keyring: Keyring, store: KeyStore) -> None:
    old = keyring.sealing(DATA).key.key_id
    keyring.lifecycle.rotate(DATA)
    let_rest(store.engine)
    keyring.lifecycle.retire(old)
    looked: list[KeyRecord] = []
    with pytest.raises(KeyringError, match="waits until"):
        keyring.lifecycle.destroy(old, look=looked.append)
    assert looked == []
    let_time_pass(store.engine, timedelta(days=30))

    def found(record: KeyRecord) -> None:
        raise KeyringError("a row names it")

    with pytest.raises(KeyringError, match="a row names it"):
        keyring.lifecycle.destroy(old, look=found)
    keyring.lifecycle.destroy(old, look=looked.append)
    assert [record.key_id for record in looked] == [old]
    keyring.lifecycle.destroy(old, look=found)
    with pytest.raises(KeyDestroyedError):
        keyring.opening(DATA, old)
    with pytest.raises(KeyringError, match="was destroyed at"):
        keyring.lifecycle.restore(old)


@pytest.mark.parametrize("days", [6.9, 3651, -1])
def test_a_waiting_period_is_a_week_to_ten_years(keyring: Keyring, store: KeyStore, days: float) -> None:
    waiting = keyring.lifecycle.prepare(DATA).key_id
    with pytest.raises(KeyringError, match="7 to 3650 days"):
        keyring.lifecycle.retire(waiting, timedelta(days=days))
    assert keyring.records(DATA)[1].state is KeyState.PRE_ACTIVE


def test_a_shorter_wait_has_to_be_asked_for(keyring: Keyring) -> None:
    waiting = keyring.lifecycle.prepare(DATA).key_id
    with pytest.raises(KeyringError):
        keyring.lifecycle.retire(waiting, timedelta(0), shortest=timedelta(seconds=-1))
    keyring.lifecycle.retire(waiting, timedelta(0), shortest=timedelta(0))
    keyring.lifecycle.destroy(waiting)


def test_a_closed_purpose_opens_and_does_not_seal_until_it_is_rotated(
    keyring: Keyring, elsewhere: Keyring, clock: ManualClock
) -> None:
    old = elsewhere.sealing(DATA).key
    keyring.lifecycle.deactivate(old.key_id)
    closed = (
        f"keyring 'main' is closed for data: its last key {old.key_id.hex()} is deactivated .* rotate --purpose data"
    )
    with pytest.raises(KeyringClosedError, match=closed):
        keyring.sealing(DATA)
    assert elsewhere.sealing(DATA).key == old
    clock.advance(180)
    with pytest.raises(KeyringClosedError):
        elsewhere.sealing(DATA)
    assert elsewhere.opening(DATA, old.key_id) == old
    assert keyring.sealing(Purpose.INDEX).key.sequence == 1
    assert keyring.lifecycle.rotation_due(DATA, max_age=timedelta(0)) is None
    waiting = keyring.lifecycle.prepare(DATA)
    assert keyring.lifecycle.rotate(DATA).key_id == waiting.key_id
    assert keyring.sealing(DATA).key.sequence == 2
    with pytest.raises(KeyringError, match="only an active key"):
        keyring.lifecycle.deactivate(old.key_id)


def test_a_keyring_whose_keys_all_ended_makes_a_new_one(keyring: Keyring, store: KeyStore) -> None:
    old = keyring.sealing(DATA).key.key_id
    keyring.lifecycle.deactivate(old)
    retire_and_destroy(keyring, store.engine, old)
    with pytest.raises(KeyringClosedError, match=f"{old.hex()} is destroyed since"):
        keyring.sealing(DATA)
    assert keyring.lifecycle.rotate(DATA).sequence == 2


def test_another_kek_makes_no_key_in_a_closed_keyring(
    keyring: Keyring, store: KeyStore, provider: ScriptedProvider
) -> None:
    old = keyring.sealing(DATA).key.key_id
    keyring.lifecycle.deactivate(old)
    retire_and_destroy(keyring, store.engine, old)
    with pytest.raises(CannotUnwrapError):
        Keyring.open(store, ScriptedProvider(b"x" * 32), "main").lifecycle.rotate(DATA)


def test_a_key_is_due_by_age_and_by_use(keyring: Keyring, store: KeyStore) -> None:
    life, key = keyring.lifecycle, keyring.sealing(DATA).key
    assert life.rotation_due(DATA) is None
    keyring.reserve_seals(key.key_id, "patients.email", 1000)
    assert life.rotation_due(DATA, max_seals=1000, max_age=timedelta(days=90)) is None
    by_use = life.rotation_due(DATA, max_seals=999)
    assert by_use == RotationDue(key.key_id, "1000 values of patients.email sealed")
    let_time_pass(store.engine, timedelta(days=91))
    by_age = life.rotation_due(DATA, max_age=timedelta(days=90))
    assert by_age is not None
    assert "91 days" in by_age.reason
    assert life.rotation_due(Purpose.INDEX, max_seals=0) is None


def test_of_two_that_find_the_same_key_due_one_rotates(keyring: Keyring, elsewhere: Keyring, store: KeyStore) -> None:
    let_time_pass(store.engine, timedelta(days=91))
    found = [k.lifecycle.rotation_due(DATA, max_age=timedelta(days=90)) for k in (keyring, elsewhere)]
    new = [k.lifecycle.rotate(DATA, due).key_id for k, due in zip((keyring, elsewhere), found, strict=True)]
    assert new[0] == new[1]
    assert [record.sequence for record in keyring.records(DATA)] == [1, 2]


def test_a_keyring_that_was_closed_meanwhile_is_not_opened_again_by_what_was_due(
    keyring: Keyring, store: KeyStore
) -> None:
    due = keyring.lifecycle.rotation_due(DATA, max_age=timedelta(seconds=-1))
    assert due is not None
    keyring.lifecycle.deactivate(due.key_id)
    with pytest.raises(KeyringClosedError):
        keyring.lifecycle.rotate(DATA, due)
    assert [record.sequence for record in keyring.records(DATA)] == [1]


def test_a_retired_key_is_checked_and_rewrapped_since_it_may_come_back(store: KeyStore) -> None:
    provider = RewrappingProvider()
    keyring = Keyring.create(store, provider, "main")
    old = keyring.sealing(DATA).key
    keyring.lifecycle.rotate(DATA)
    let_rest(store.engine)
    keyring.lifecycle.retire(old.key_id)
    provider.version = 2
    assert old.key_id in {record.key_id for record in keyring.lifecycle.rewrap()}
    assert [r.wrapped.kek_version for r in keyring.records() if r.wrapped is not None] == ["2"] * 4
    assert keyring.lifecycle.check() == []
    keyring.lifecycle.restore(old.key_id)
    assert keyring.opening(DATA, old.key_id) == old


def test_a_wall_clock_that_goes_back_an_hour_lengthens_the_rest_before_a_key_is_retired(
    store: KeyStore, provider: ScriptedProvider
) -> None:
    wall = datetime.now(UTC)
    keyring = Keyring.create(KeyStore(store.engine, now=lambda: wall), provider, "main", refresh=False)
    old, second = keyring.records(DATA)[0], keyring.lifecycle.rotate(DATA)
    for seconds in (-3600, 3600, 179):
        wall += timedelta(seconds=seconds)
        with pytest.raises(KeyringError, match="less than 180 seconds ago"):
            keyring.lifecycle.retire(old.key_id)
    wall -= timedelta(hours=1)
    third = keyring.lifecycle.rotate(DATA)
    assert third.created_at < second.created_at
    assert keyring.sealing(DATA).key.key_id == third.key_id, "keys follow each other by sequence, not by date"
    wall += timedelta(hours=1, seconds=1)
    let_time_pass(store.engine, timedelta(seconds=180))
    keyring.lifecycle.retire(old.key_id)


def test_a_key_can_be_prepared_before_it_seals(keyring: Keyring, elsewhere: Keyring) -> None:
    waiting = keyring.lifecycle.prepare(DATA)
    assert waiting.state is KeyState.PRE_ACTIVE
    assert keyring.sealing(DATA).key.sequence == 1
    assert elsewhere.opening(DATA, waiting.key_id).sequence == 2
    assert keyring.lifecycle.rotate(DATA).key_id == waiting.key_id
    assert keyring.sealing(DATA).key.key_id == waiting.key_id
    assert keyring.lifecycle.rotate(DATA).sequence == 3


def test_the_first_ledger_key_is_never_retired_or_destroyed(keyring: Keyring, store: KeyStore) -> None:
    first = keyring.first(Purpose.LEDGER).key_id
    second = keyring.lifecycle.rotate(Purpose.LEDGER).key_id
    keyring.lifecycle.rotate(Purpose.LEDGER)
    let_rest(store.engine)
    for end in (keyring.lifecycle.retire, keyring.lifecycle.destroy):
        with pytest.raises(KeyringError, match="first ledger key"):
            end(first)
    retire_and_destroy(keyring, store.engine, second)
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
    retire_and_destroy(keyring, store.engine, old)
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
