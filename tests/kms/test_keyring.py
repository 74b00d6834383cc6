"""The keyring: what seals, what opens, what happens when keys change, and that nothing leaks from it."""

import copy
import os
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, update

from kms.errors import (
    AccessDeniedError,
    CannotUnwrapError,
    KeyDestroyedError,
    KeyringError,
    KeyVersionRetiredError,
    KmsError,
    LeaseExpiredError,
    SealLimitError,
    UnavailableError,
    UnknownKeyIdError,
)
from kms.key_database import writing
from kms.key_record import KeyringState, KeyState, Purpose
from kms.key_store import KeyStore
from kms.key_tables import key_table, keyring_table, seal_count_table
from kms.keyring import Keyring
from tests.kms.manual_clock import ManualClock
from tests.kms.rested import retire_and_destroy
from tests.kms.rewrapping_provider import RewrappingProvider
from tests.kms.scripted_provider import ScriptedProvider

DATA, INDEX, LEDGER = Purpose.DATA, Purpose.INDEX, Purpose.LEDGER


def count_loads(monkeypatch: pytest.MonkeyPatch, store: KeyStore) -> list[bytes]:
    loads: list[bytes] = []
    load = store.load_again

    def counted(keyring_id: bytes) -> KeyringState:
        loads.append(keyring_id)
        return load(keyring_id)

    monkeypatch.setattr(store, "load_again", counted)
    return loads


def fail_loads(monkeypatch: pytest.MonkeyPatch, store: KeyStore) -> None:
    def down(keyring_id: bytes) -> KeyringState:
        raise UnavailableError("the key store does not answer")

    monkeypatch.setattr(store, "load_again", down)


def test_a_new_keyring_has_one_active_key_for_each_purpose(any_store: KeyStore, provider: ScriptedProvider) -> None:
    keyring = Keyring.create(any_store, provider, "main")
    assert [(r.purpose, r.sequence, r.state) for r in keyring.records()] == [
        (purpose, 1, KeyState.ACTIVE) for purpose in (DATA, INDEX, LEDGER)
    ]
    keys = [keyring.sealing(purpose).key for purpose in Purpose]
    assert len({key.secret.raw for key in keys}) == len({key.key_id for key in keys}) == 3
    assert len(keyring.id) == 16


def test_another_process_opens_the_same_keys(any_store: KeyStore, provider: ScriptedProvider) -> None:
    keyring = Keyring.create(any_store, provider, "main")
    other = Keyring.open(any_store, provider, "main")
    assert other.id == keyring.id
    assert other.sealing(DATA).key == keyring.sealing(DATA).key
    assert other.opening(DATA, keyring.sealing(DATA).key.key_id) == keyring.sealing(DATA).key


def test_a_keyring_that_does_not_exist_is_not_made(store: KeyStore, provider: ScriptedProvider) -> None:
    with pytest.raises(KeyringError, match="no keyring called 'main'"):
        Keyring.open(store, provider, "main")


def test_sealing_in_the_lease_asks_nobody(
    keyring: Keyring, store: KeyStore, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch, clock: ManualClock
) -> None:
    first = keyring.sealing(DATA)
    loads = count_loads(monkeypatch, store)
    clock.advance(119)
    assert keyring.sealing(DATA) is first
    assert loads == []
    assert provider.batches == [1]


def test_a_rotation_reaches_other_processes_within_the_sealing_lease(
    keyring: Keyring, elsewhere: Keyring, clock: ManualClock
) -> None:
    old = elsewhere.sealing(DATA).key
    new = keyring.lifecycle.rotate(DATA)
    assert new.key_id != old.key_id
    assert keyring.sealing(DATA).key.key_id == new.key_id
    assert elsewhere.sealing(DATA).key == old
    clock.advance(180)
    assert elsewhere.sealing(DATA).key.key_id == new.key_id
    assert elsewhere.opening(DATA, old.key_id) == old


def test_nothing_is_sealed_when_the_store_was_not_read_for_a_lease(
    keyring: Keyring, store: KeyStore, monkeypatch: pytest.MonkeyPatch, clock: ManualClock
) -> None:
    key = keyring.sealing(DATA).key
    fail_loads(monkeypatch, store)
    clock.advance(179)
    assert keyring.sealing(DATA).key == key
    assert keyring.sealing(DATA).until <= clock() + 1
    clock.advance(1)
    with pytest.raises(LeaseExpiredError, match="does not answer"):
        keyring.sealing(DATA)
    assert keyring.opening(DATA, key.key_id) == key
    monkeypatch.undo()
    assert keyring.sealing(DATA).key == key


def test_sealing_does_not_outlive_the_unwrapped_key(
    keyring: Keyring, provider: ScriptedProvider, clock: ManualClock
) -> None:
    start = clock()
    keyring.opening(DATA, keyring.sealing(DATA).key.key_id)
    clock.advance(299)
    assert keyring.sealing(DATA).until == start + 300
    provider.fail = AccessDeniedError("no")
    clock.advance(1)
    with pytest.raises(AccessDeniedError):
        keyring.sealing(DATA)


def test_keys_survive_an_outage_of_the_key_service_for_an_hour(
    keyring: Keyring, provider: ScriptedProvider, clock: ManualClock
) -> None:
    key = keyring.sealing(DATA).key
    provider.fail = UnavailableError("down")
    for _ in range(59):
        clock.advance(60)
        assert keyring.sealing(DATA).key == key
        assert keyring.opening(DATA, key.key_id) == key
    clock.advance(60)
    with pytest.raises(UnavailableError):
        keyring.sealing(DATA)
    with pytest.raises(UnavailableError):
        keyring.opening(DATA, key.key_id)


def test_a_new_key_id_is_found_by_one_reading(
    keyring: Keyring, elsewhere: Keyring, store: KeyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = keyring.lifecycle.rotate(DATA)
    loads = count_loads(monkeypatch, store)
    threads = [threading.Thread(target=elsewhere.opening, args=(DATA, new.key_id)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loads) == 1
    assert elsewhere.opening(DATA, new.key_id).sequence == 2


def test_k10_01_an_unknown_key_id_is_unknown_for_five_seconds_and_alone(
    keyring: Keyring, elsewhere: Keyring, store: KeyStore, monkeypatch: pytest.MonkeyPatch, clock: ManualClock
) -> None:
    loads = count_loads(monkeypatch, store)
    for _ in range(3):
        with pytest.raises(UnknownKeyIdError, match="'main' has no data key 00000009"):
            keyring.opening(DATA, b"\0\0\0\x09")
    assert len(loads) == 1
    new = elsewhere.lifecycle.rotate(DATA)
    assert keyring.opening(DATA, new.key_id).key_id == new.key_id
    before = len(loads)
    clock.advance(5)
    with pytest.raises(UnknownKeyIdError):
        keyring.opening(DATA, b"\0\0\0\x09")
    assert len(loads) == before + 1


def test_k10_01_another_key_file_is_another_error_than_an_unknown_key_id(
    keyring: Keyring, store: KeyStore, clock: ManualClock
) -> None:
    wrong = Keyring.open(store, ScriptedProvider(kek=b"\1" * 32), "main", clock=clock, refresh=False)
    with pytest.raises(CannotUnwrapError, match="give the right key file"):
        wrong.opening(DATA, keyring.records(DATA)[0].key_id)
    with pytest.raises(CannotUnwrapError):
        wrong.sealing(DATA)
    with pytest.raises(UnknownKeyIdError):
        wrong.opening(DATA, b"\0\0\0\x09")


def test_k10_01_ids_that_differ_by_one_bit_are_other_ids(keyring: Keyring) -> None:
    key_id = keyring.sealing(DATA).key.key_id
    near = [(int.from_bytes(key_id, "big") ^ 1 << bit).to_bytes(4, "big") for bit in range(32)]
    for other in [*near, b"", key_id[:3], key_id + b"\0", bytes(4)]:
        with pytest.raises(UnknownKeyIdError, match=f"has no data key {other.hex()}:"):
            keyring.opening(DATA, other)


def test_k10_01_keyrings_of_one_name_in_two_stores_open_nothing_of_each_other(
    keyring: Keyring, provider: ScriptedProvider, tmp_path: Path
) -> None:
    """Test and production, say, with one key-encryption key: not even when a row is copied from store to store."""
    store = KeyStore.from_url(f"sqlite:///{tmp_path / 'other.db'}")
    store.create_schema()
    other = Keyring.create(store, provider, "main", refresh=False)
    mine, theirs = keyring.records(DATA)[0], other.records(DATA)[0]
    assert keyring.name == other.name
    with pytest.raises(UnknownKeyIdError):
        other.opening(DATA, mine.key_id)
    with writing(store.engine) as connection:
        assert mine.wrapped is not None
        row = key_table.c.key_id == theirs.key_id
        connection.execute(update(key_table).where(row).values(key_id=mine.key_id, wrapped=mine.wrapped.ciphertext))
    fresh = Keyring.open(store, provider, "main", refresh=False)
    with pytest.raises(CannotUnwrapError, match="does not authenticate"):
        fresh.opening(DATA, mine.key_id)
    store.close()


def test_an_id_is_not_unknown_because_the_store_is_down(
    keyring: Keyring, elsewhere: Keyring, store: KeyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = elsewhere.lifecycle.rotate(DATA)
    with monkeypatch.context() as outage:
        fail_loads(outage, store)
        with pytest.raises(UnavailableError):
            keyring.opening(DATA, new.key_id)
    assert keyring.opening(DATA, new.key_id).key_id == new.key_id


def test_a_key_serves_its_own_purpose_only(keyring: Keyring) -> None:
    index = keyring.sealing(INDEX).key
    for _ in range(2):
        with pytest.raises(UnknownKeyIdError, match="no data key"):
            keyring.opening(DATA, index.key_id)
    assert keyring.opening(INDEX, index.key_id) == index


def test_the_first_key_stays_the_first(keyring: Keyring) -> None:
    first = keyring.first(LEDGER)
    keyring.lifecycle.rotate(LEDGER)
    keyring.lifecycle.rotate(LEDGER)
    assert keyring.first(LEDGER) == first
    assert first.sequence == 1


def test_no_other_key_becomes_the_first_when_the_first_is_taken_away_by_sql(keyring: Keyring, store: KeyStore) -> None:
    first = keyring.first(LEDGER)
    keyring.lifecycle.rotate(LEDGER)
    with writing(store.engine) as connection:
        connection.execute(delete(key_table).where(key_table.c.key_id == first.key_id))
    keyring.records()
    with pytest.raises(KeyringError, match="no first ledger key"):
        keyring.first(LEDGER)


@pytest.mark.parametrize("changes", [{"sequence": 9, "state": "active"}, {"state": "active"}], ids=str)
def test_a_key_that_was_rotated_away_does_not_seal_again_by_sql(
    any_store: KeyStore, provider: ScriptedProvider, clock: ManualClock, changes: dict[str, Any]
) -> None:
    keyring = Keyring.create(any_store, provider, "main", clock=clock, refresh=False)
    old = keyring.sealing(DATA).key
    new = keyring.lifecycle.rotate(DATA)
    with writing(any_store.engine) as connection:
        connection.execute(update(key_table).where(key_table.c.key_id == new.key_id).values(state="deactivated"))
        connection.execute(update(key_table).where(key_table.c.key_id == old.key_id).values(changes))
    clock.advance(180)
    with pytest.raises((CannotUnwrapError, KeyringError)):
        keyring.sealing(DATA)


def test_a_key_of_another_purpose_does_not_seal_by_sql(
    any_store: KeyStore, provider: ScriptedProvider, clock: ManualClock
) -> None:
    keyring = Keyring.create(any_store, provider, "main", clock=clock, refresh=False)
    index = keyring.sealing(INDEX).key
    with writing(any_store.engine) as connection:
        row = key_table.c.key_id == index.key_id
        connection.execute(update(key_table).where(row).values(purpose="data", sequence=9))
    clock.advance(180)
    with pytest.raises(CannotUnwrapError):
        keyring.sealing(DATA)


def test_a_destroyed_key_is_told_as_such_everywhere_within_the_leases(
    keyring: Keyring, elsewhere: Keyring, store: KeyStore, clock: ManualClock
) -> None:
    old = elsewhere.sealing(DATA).key
    keyring.lifecycle.rotate(DATA)
    retire_and_destroy(keyring, store.engine, old.key_id)
    with pytest.raises(KeyDestroyedError, match=old.key_id.hex()):
        keyring.opening(DATA, old.key_id)
    clock.advance(300)
    with pytest.raises(KeyDestroyedError):
        elsewhere.opening(DATA, old.key_id)
    assert [r.state for r in keyring.records(DATA)] == [KeyState.DESTROYED, KeyState.ACTIVE]


def test_warming_opens_every_live_key_in_one_call(
    keyring: Keyring, store: KeyStore, provider: ScriptedProvider
) -> None:
    first = keyring.sealing(DATA).key.key_id
    keyring.lifecycle.rotate(DATA)
    keyring.lifecycle.rotate(DATA)
    retire_and_destroy(keyring, store.engine, first)
    live = {r.key_id for r in keyring.records() if r.live}
    provider.batches.clear()
    assert keyring.warm() == live
    assert provider.batches == [4]
    for record in keyring.records():
        if record.live:
            keyring.opening(record.purpose, record.key_id)
    assert provider.batches == [4]


def test_warming_tells_which_keys_do_not_open(keyring: Keyring, provider: ScriptedProvider) -> None:
    old, new = keyring.records(DATA)[0], keyring.lifecycle.rotate(DATA)
    provider.refuse[old.context] = CannotUnwrapError("changed")
    assert keyring.warm() == {r.key_id for r in keyring.records()} - {old.key_id}
    assert keyring.opening(DATA, new.key_id).key_id == new.key_id
    provider.fail = AccessDeniedError("no")
    with pytest.raises(AccessDeniedError):
        keyring.lifecycle.rotate(DATA)


def test_wrapped_bytes_swapped_by_sql_do_not_open(any_store: KeyStore, provider: ScriptedProvider) -> None:
    Keyring.create(any_store, provider, "main").lifecycle.rotate(DATA)
    one, two = any_store.load("main").of(DATA)
    assert one.wrapped is not None
    assert two.wrapped is not None
    with writing(any_store.engine) as connection:
        for record, other in ((one, two.wrapped), (two, one.wrapped)):
            row = key_table.c.key_id == record.key_id
            connection.execute(update(key_table).where(row).values(wrapped=other.ciphertext))
    fresh = Keyring.open(any_store, provider, "main")
    for record in (one, two):
        with pytest.raises(CannotUnwrapError):
            fresh.opening(DATA, record.key_id)
    assert fresh.warm() == {record.key_id for record in any_store.load("main").records} - {one.key_id, two.key_id}


def test_seals_are_counted_for_each_key_and_field(keyring: Keyring, store: KeyStore) -> None:
    key_id = keyring.sealing(DATA).key.key_id
    keyring.reserve_seals(key_id, "patients.email", 3)
    assert keyring.seal_counts() == {(key_id, "patients.email"): 256}
    with writing(store.engine) as connection:
        connection.execute(update(seal_count_table).values(counted=2**32))
    with pytest.raises(SealLimitError, match="rotate"):
        keyring.reserve_seals(key_id, "patients.email", 254)
    new = keyring.lifecycle.rotate(DATA)
    keyring.reserve_seals(new.key_id, "patients.email", 254)


def test_a_name_is_an_alias(keyring: Keyring, store: KeyStore) -> None:
    key = keyring.sealing(DATA).key
    with writing(store.engine) as connection:
        connection.execute(update(keyring_table).values(name="renamed"))
    assert keyring.records(DATA)[0].key_id == key.key_id
    assert keyring.sealing(DATA).key == key


def test_a_keyring_that_is_gone_does_not_seal(
    keyring: Keyring, store: KeyStore, monkeypatch: pytest.MonkeyPatch, clock: ManualClock
) -> None:
    keyring.sealing(DATA)
    monkeypatch.setattr(keyring, "id", bytes(16))
    clock.advance(180)
    with pytest.raises(KeyringError, match="no keyring called 0000"):
        keyring.sealing(DATA)


@pytest.mark.parametrize("use", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_keyring_is_not_pickled_or_copied(keyring: Keyring, use: Any) -> None:
    with pytest.raises(TypeError, match="never pickled or copied"):
        use(keyring)


def test_nothing_that_is_shown_holds_a_key(keyring: Keyring) -> None:
    sealing = keyring.sealing(DATA)
    raw = sealing.key.secret.raw
    for shown in (repr(keyring), repr(sealing), repr(keyring.records()), repr(vars(keyring))):
        assert raw.hex() not in shown
        assert repr(raw)[2:-1] not in shown
    assert repr(keyring) == f"Keyring('main', id={keyring.id.hex()})"


def in_a_child(work: Callable[[], bool]) -> bool:
    pid = os.fork()
    if pid == 0:
        good = False
        try:
            good = work()
        finally:
            os._exit(0 if good else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_opens_its_keys_itself(any_store: KeyStore, provider: ScriptedProvider) -> None:
    keyring = Keyring.create(any_store, provider, "main")
    key = keyring.sealing(DATA).key
    calls = len(provider.batches)

    def child() -> bool:
        forgotten = not keyring._sealing and keyring._unwrapped.peek(key.key_id) is None
        again = keyring.sealing(DATA).key == key and keyring.lifecycle.rotate(DATA).sequence == 2
        return forgotten and again and len(provider.batches) > calls

    keyring._lease._lock.acquire()  # as if another thread were reading while we fork
    try:
        assert in_a_child(child)
    finally:
        keyring._lease._lock.release()
    assert keyring._unwrapped.peek(key.key_id) is not None
    assert keyring.records(DATA)[-1].sequence == 2


def test_a_thread_that_was_slow_does_not_bring_the_old_key_back(
    keyring: Keyring, provider: ScriptedProvider, clock: ManualClock
) -> None:
    clock.advance(300)
    asking, gate = threading.Event(), threading.Event()

    def slowly() -> None:
        asking.set()
        gate.wait(10)

    provider.before = slowly
    slow = threading.Thread(target=keyring.sealing, args=(DATA,))
    slow.start()
    assert asking.wait(10)
    provider.before = lambda: None
    new = keyring.lifecycle.rotate(DATA)
    gate.set()
    slow.join()
    assert keyring.sealing(DATA).key.key_id == new.key_id


@pytest.mark.parametrize("through", ["sealing", "opening"])
def test_a_process_that_has_not_heard_of_a_rewrap_finds_the_new_bytes_when_the_old_are_refused(
    store: KeyStore, clock: ManualClock, through: str
) -> None:
    provider = RewrappingProvider()
    Keyring.create(store, provider, "main")
    elsewhere, here = (Keyring.open(store, provider, "main", clock=clock, refresh=False) for _ in range(2))
    provider.version = 2
    elsewhere.lifecycle.rewrap()
    provider.oldest = 2
    (record,) = store.load("main").of(DATA)
    if through == "sealing":
        assert here.sealing(DATA).key.key_id == record.key_id
    else:
        assert here.opening(DATA, record.key_id).key_id == record.key_id


def test_bytes_that_are_refused_and_were_not_rewrapped_stay_refused(store: KeyStore, clock: ManualClock) -> None:
    provider = RewrappingProvider()
    keyring = Keyring.create(store, provider, "main", clock=clock, refresh=False)
    provider.oldest = 2
    with pytest.raises(KeyVersionRetiredError):
        keyring.sealing(DATA)


def test_a_key_service_that_is_waited_for_does_not_lengthen_the_sealing_lease(
    keyring: Keyring, elsewhere: Keyring, provider: ScriptedProvider, clock: ManualClock
) -> None:
    clock.advance(119)  # the state was read then, and is not due yet
    waited = {"seconds": 62.0}
    provider.before = lambda: clock.advance(waited.pop("seconds", 0.0))
    new = Keyring.open(elsewhere._store, ScriptedProvider(), "main", refresh=False).lifecycle.rotate(DATA)
    assert keyring.sealing(DATA).key.key_id == new.key_id  # 181 s after the state was read


def test_nothing_is_sealed_when_the_store_went_away_while_the_key_service_was_waited_for(
    keyring: Keyring,
    store: KeyStore,
    provider: ScriptedProvider,
    monkeypatch: pytest.MonkeyPatch,
    clock: ManualClock,
) -> None:
    clock.advance(119)
    fail_loads(monkeypatch, store)
    provider.before = lambda: clock.advance(62)
    with pytest.raises(LeaseExpiredError, match="does not answer"):
        keyring.sealing(DATA)


def test_who_waits_for_a_key_while_the_keyring_is_closed_is_told_that_and_not_that_the_key_was_destroyed(
    keyring: Keyring, provider: ScriptedProvider
) -> None:
    (record,) = keyring.records(DATA)
    provider.before = keyring.close
    for use in (lambda: keyring.opening(DATA, record.key_id), lambda: keyring.sealing(DATA)):
        with pytest.raises(KeyringError, match="was closed"):
            use()
    assert keyring._unwrapped.all_held() == []


def test_a_reading_under_way_leaves_nothing_in_a_keyring_that_was_closed_meanwhile(
    keyring: Keyring, store: KeyStore, monkeypatch: pytest.MonkeyPatch, clock: ManualClock
) -> None:
    load, key = store.load_again, keyring.sealing(DATA).key

    def closed_meanwhile(keyring_id: bytes) -> KeyringState:
        keyring.close()
        return load(keyring_id)

    monkeypatch.setattr(store, "load_again", closed_meanwhile)
    clock.advance(121)
    with pytest.raises(KmsError):
        keyring.sealing(DATA)
    assert keyring._unwrapped._records == {}
    for use in (lambda: keyring.opening(DATA, key.key_id), lambda: keyring.sealing(DATA)):
        with pytest.raises(KeyringError, match="was closed"):
            use()
