"""What is read and unwrapped before it is due, step by step, without a thread."""

import logging
from collections.abc import Callable

import pytest
from sqlalchemy import update

from kms.errors import AccessDeniedError, CannotUnwrapError, KeyringError, LoginExpiredError, UnavailableError
from kms.key_database import writing
from kms.key_record import Purpose
from kms.key_store import KeyStore
from kms.key_tables import keyring_table
from kms.keyring import Keyring
from kms.lease import LeaseSettings
from kms.refresh import Refresh
from tests.kms.manual_clock import ManualClock
from tests.kms.rested import retire_and_destroy
from tests.kms.rewrapping_provider import RewrappingProvider
from tests.kms.scripted_provider import ScriptedProvider

DATA, INDEX = Purpose.DATA, Purpose.INDEX
DOWN = UnavailableError("down")


def drawn(keyring: Keyring, jitter: float) -> Refresh:
    keyring._refresh._jitter = lambda: jitter
    keyring._refresh.forget_after_fork()
    return keyring._refresh


def next_event(refresh: Refresh, clock: ManualClock, happened: Callable[[], object]) -> float:
    """Step as the thread would, until happened() changes; the time then."""
    before = happened()
    while happened() == before:
        clock.advance(refresh.step())
    return clock()


@pytest.mark.parametrize(("jitter", "state", "keys"), [(0.0, 90, 210), (0.999999, 120, 270)])
def test_the_state_is_read_and_the_keys_are_unwrapped_well_before_they_are_due(
    keyring: Keyring, provider: ScriptedProvider, clock: ManualClock, jitter: float, state: float, keys: float
) -> None:
    keyring.warm()
    start, refresh = clock(), drawn(keyring, jitter)
    next_event(refresh, clock, lambda: keyring._lease.asked)
    assert keyring._lease.asked == pytest.approx(start + state, abs=0.1)
    next_event(refresh, clock, lambda: len(provider.batches))
    (asked, *_) = {held.asked for held in keyring._unwrapped.all_held()}
    assert asked == pytest.approx(start + keys, abs=0.1)
    assert provider.batches == [3, 3]


def test_keys_that_were_opened_at_other_times_are_renewed_together(
    keyring: Keyring, provider: ScriptedProvider, clock: ManualClock
) -> None:
    refresh = drawn(keyring, 0)
    keyring.sealing(DATA)
    clock.advance(50)
    keyring.sealing(INDEX)
    provider.batches.clear()
    next_event(refresh, clock, lambda: len(provider.batches))
    assert provider.batches == [2]
    assert clock() - 1000 < 300


def test_nothing_is_unwrapped_that_nobody_asked_for(
    keyring: Keyring, elsewhere: Keyring, provider: ScriptedProvider, clock: ManualClock
) -> None:
    refresh, old = drawn(keyring, 0.5), keyring.records(DATA)[0]
    for _ in range(3):
        elsewhere.lifecycle.rotate(DATA)
    keyring.records()
    refresh.step()
    keyring.opening(DATA, old.key_id)
    index = elsewhere.lifecycle.rotate(INDEX)
    clock.advance(130)
    for _ in range(20):
        clock.advance(refresh.step())
    assert keyring._unwrapped.peek(index.key_id) is None, "no index key is used here"
    assert {held.key.key_id for held in keyring._unwrapped.all_held()} == {old.key_id}, "the others were there before"


def test_a_new_key_is_unwrapped_when_it_is_met(
    keyring: Keyring, elsewhere: Keyring, provider: ScriptedProvider, clock: ManualClock
) -> None:
    refresh = drawn(keyring, 0.5)
    keyring.opening(DATA, keyring.records(DATA)[0].key_id)
    refresh.step()
    prepared = elsewhere.lifecycle.prepare(DATA)
    clock.advance(120)
    refresh.step()
    assert keyring._unwrapped.peek(prepared.key_id) is not None
    provider.batches.clear()
    assert keyring.opening(DATA, prepared.key_id).key_id == prepared.key_id
    assert provider.batches == []


def test_a_new_key_that_a_reader_met_first_is_unwrapped_in_the_background_as_well(
    keyring: Keyring, elsewhere: Keyring, clock: ManualClock
) -> None:
    refresh = drawn(keyring, 0.5)
    keyring.sealing(DATA)
    refresh.step()
    first, second = elsewhere.lifecycle.rotate(DATA), elsewhere.lifecycle.rotate(DATA)
    keyring.opening(DATA, first.key_id)
    refresh.step()
    assert keyring._unwrapped.peek(second.key_id) is not None


def test_a_prepared_key_that_becomes_active_is_there_for_a_process_that_began_to_seal_after_it_was_made(
    keyring: Keyring, elsewhere: Keyring, clock: ManualClock
) -> None:
    refresh = drawn(keyring, 0.5)
    prepared = elsewhere.lifecycle.prepare(DATA)
    keyring.records()
    refresh.step()
    keyring.sealing(DATA)
    elsewhere.lifecycle.rotate(DATA)
    clock.advance(120)
    refresh.step()
    assert keyring._unwrapped.peek(prepared.key_id) is not None


def test_an_outage_of_the_key_service_is_told_once_and_asked_about_every_5_seconds(
    keyring: Keyring, provider: ScriptedProvider, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    keyring.warm()
    refresh, start = drawn(keyring, 0), clock()
    provider.fail = DOWN
    provider.batches.clear()
    while clock() < start + 3600:
        clock.advance(refresh.step())
        if clock() < start + 3600:
            assert len(keyring._unwrapped.all_held()) == 3
    assert len(provider.batches) == pytest.approx((3600 - 210) / 5, abs=2)
    lives = "its keys are used until 3600 s after they were last unwrapped: down"
    assert caplog.messages == [f"keyring 'main': its key service is unavailable, {lives}"]
    for _ in range(10):
        clock.advance(refresh.step())
    assert keyring._unwrapped.all_held() == []
    told = [message for message in caplog.messages[1:] if "does not open and is forgotten: down" in message]
    assert len(told) == len(caplog.messages) - 1 == 3, "each key once, not at each try"
    provider.fail = None
    clock.advance(5)
    refresh.step()
    assert len(keyring._unwrapped.all_held()) == 3, "it is the thread that finds out that the service is back"


@pytest.mark.parametrize("kind", [AccessDeniedError, CannotUnwrapError, LoginExpiredError])
def test_a_refusal_ends_the_keys_at_once_and_is_logged(
    keyring: Keyring,
    provider: ScriptedProvider,
    clock: ManualClock,
    caplog: pytest.LogCaptureFixture,
    kind: type[Exception],
) -> None:
    keyring.warm()
    sealing = keyring.sealing(DATA)
    opening = keyring.opening_lease(DATA, sealing.key.key_id)
    refresh = drawn(keyring, 0)
    clock.advance(211)
    assert opening.until == 1300
    provider.fail = kind("no")  # type: ignore[assignment]
    refresh.step()
    assert opening.until < clock()
    assert sealing.until < clock()
    assert keyring._unwrapped.all_held() == []
    told = [r for r in caplog.records if r.levelno == logging.WARNING]
    assert {r.getMessage() for r in told} == {
        f"key {record.key_id.hex()} of keyring 'main' does not open and is forgotten: no"
        for record in keyring._lease.state.records
    }
    assert sealing.key.secret.raw.hex() not in caplog.text
    with pytest.raises(kind, match="no"):
        keyring.sealing(DATA)


def test_a_refusal_ends_sealing_also_when_the_state_was_read_just_before(
    keyring: Keyring, provider: ScriptedProvider, clock: ManualClock
) -> None:
    keyring.warm()
    refresh = drawn(keyring, 0)
    clock.advance(200)
    refresh.step()
    sealing = keyring.sealing(DATA)
    clock.advance(11)
    provider.fail = AccessDeniedError("no")
    refresh.step()
    assert keyring._lease.asked == clock() - 11
    assert sealing.until < clock()


def test_one_key_that_is_refused_does_not_end_the_others(
    keyring: Keyring, provider: ScriptedProvider, clock: ManualClock
) -> None:
    keyring.warm()
    bad, good = keyring.records(DATA)[0], keyring.records(INDEX)[0]
    refresh = drawn(keyring, 0)
    provider.refuse[bad.context] = CannotUnwrapError("changed")
    clock.advance(211)
    refresh.step()
    assert keyring._unwrapped.peek(bad.key_id) is None
    held = keyring._unwrapped.peek(good.key_id)
    assert held is not None
    assert held.asked == clock()
    batches = len(provider.batches)
    with pytest.raises(CannotUnwrapError, match="changed"):
        keyring.sealing(DATA)
    assert len(provider.batches) == batches, "the background has just been told"


def test_bytes_that_a_rewrap_exchanged_are_read_again_before_a_key_is_given_up(
    store: KeyStore, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    provider = RewrappingProvider()
    Keyring.create(store, provider, "main", refresh=False)
    elsewhere, here = (Keyring.open(store, provider, "main", clock=clock, refresh=False) for _ in range(2))
    here.warm()
    refresh = drawn(here, 0.999)
    clock.advance(200)
    refresh.step()
    provider.version = 2
    elsewhere.lifecycle.rewrap()
    provider.oldest = 2
    clock.advance(71)
    refresh.step()
    assert len(here._unwrapped.all_held()) == 3
    assert all(held.asked == clock() for held in here._unwrapped.all_held())
    assert caplog.text == ""


def test_a_destroyed_key_is_forgotten_with_the_news(
    keyring: Keyring, elsewhere: Keyring, store: KeyStore, clock: ManualClock
) -> None:
    old = keyring.sealing(DATA).key
    lease = keyring.opening_lease(DATA, old.key_id)
    refresh = drawn(keyring, 0)
    elsewhere.lifecycle.rotate(DATA)
    retire_and_destroy(elsewhere, store.engine, old.key_id)
    clock.advance(91)
    refresh.step()
    assert lease.until < clock()
    assert keyring._unwrapped.peek(old.key_id) is None


def test_a_keyring_that_is_gone_ends_at_once(
    keyring: Keyring, store: KeyStore, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    keyring.warm()
    sealing, refresh = keyring.sealing(DATA), drawn(keyring, 0)
    with writing(store.engine) as connection:
        connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
        connection.execute(update(keyring_table).values(id=bytes(16)))
        connection.exec_driver_sql("UPDATE noisevault_key SET keyring_id = zeroblob(16)")
    clock.advance(91)
    assert 0 < refresh.step() <= 5
    assert sealing.until < clock()
    assert "cannot be read, so it seals and opens no more" in caplog.text
    with pytest.raises(KeyringError, match="no keyring called"):
        keyring.sealing(DATA)


def test_a_step_that_was_on_its_way_when_the_keyring_was_closed_complains_of_nothing(
    keyring: Keyring, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    keyring.warm()
    refresh = drawn(keyring, 0)
    keyring.close()
    clock.advance(91)
    assert refresh.step() > 0
    assert caplog.text == ""


def test_an_outage_of_the_store_is_told_and_asked_about_every_5_seconds(
    keyring: Keyring,
    store: KeyStore,
    clock: ManualClock,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refresh, asked = drawn(keyring, 0), []

    def down(keyring_id: bytes) -> object:
        asked.append(clock())
        raise DOWN

    monkeypatch.setattr(store, "load_again", down)
    while clock() < 1180:
        clock.advance(refresh.step())
    assert asked[:3] == [1090, 1095, 1100]
    assert caplog.messages == ["keyring 'main': its key store is unavailable, it seals on for 180 s at most: down"]


def test_seals_are_counted_ahead_and_under_the_next_key_as_well(
    keyring: Keyring, elsewhere: Keyring, clock: ManualClock
) -> None:
    refresh, first = drawn(keyring, 0), keyring.sealing(DATA).key.key_id
    keyring.reserve_seals(first, "patients.email", 256)
    assert keyring.seal_counts() == {(first, "patients.email"): 256}
    refresh.step()
    assert keyring.seal_counts() == {(first, "patients.email"): 256 + 1024}
    second = elsewhere.lifecycle.rotate(DATA).key_id
    clock.advance(91)
    refresh.step()
    assert keyring.seal_counts()[second, "patients.email"] == 1024, "as many as the last block under the old one"


def test_short_leases_are_kept_as_well(store: KeyStore, provider: ScriptedProvider, clock: ManualClock) -> None:
    leases = LeaseSettings(sealing=0.6, unwrapped_soft=0.5, unwrapped_hard=2)
    keyring = Keyring.create(store, provider, "main", clock=clock, leases=leases, refresh=False)
    keyring.warm()
    sealing = keyring.sealing(DATA)
    refresh = drawn(keyring, 0.9)
    for _ in range(200):
        pause = refresh.step()
        assert 0.01 <= pause <= 0.1
        sealing = keyring.sealing(DATA)
        clock.advance(pause)
        assert clock() < keyring._lease.asked + 0.6
        assert all(clock() < held.soft for held in keyring._unwrapped.all_held())
    assert sealing.key.sequence == 1


def test_a_child_begins_anew(keyring: Keyring, clock: ManualClock) -> None:
    keyring.warm()
    keyring.forget_after_fork()
    assert keyring._refresh.step() > 0
    assert keyring._unwrapped.all_held() == []


def test_a_row_that_makes_no_sense_does_not_end_the_thread_when_a_key_is_refused(
    keyring: Keyring, store: KeyStore, provider: ScriptedProvider, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    keyring.warm()
    refresh = drawn(keyring, 0)
    with writing(store.engine) as connection:
        connection.exec_driver_sql("UPDATE noisevault_key SET sequence = 'x' WHERE purpose = 'ledger'")
    provider.fail = CannotUnwrapError("changed")
    clock.advance(211)
    refresh.step()
    assert keyring._unwrapped.all_held() == []
    assert "does not open and is forgotten: changed" in caplog.text
    refresh.step()
