"""How keys end: on both kinds of database, with clocks that are wrong, and when two processes race."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select

from kms.errors import KeyringError, UnavailableError
from kms.key_database import reading
from kms.key_endings import KeyEndings
from kms.key_record import KeyState, Purpose
from kms.key_store import KeyStore
from kms.key_tables import key_table
from tests.kms.racing import race
from tests.kms.rested import end_at_once, let_time_pass
from tests.kms.test_key_store import KEYRING, record, record_of, with_keyring

DAY = timedelta(days=1)
LEASE = 180


def states(store: KeyStore) -> dict[bytes, KeyState]:
    return {r.key_id: r.state for r in store.load("main").records}


def test_a_key_is_retired_restored_retired_and_destroyed(any_store: KeyStore) -> None:
    with_keyring(any_store, record(b"aaaa", state=KeyState.DEACTIVATED), record(b"bbbb", 2))
    endings = KeyEndings(any_store, KEYRING, rest=LEASE)
    endings.retire(b"aaaa", 30 * DAY)
    retired = record_of(any_store, b"aaaa")
    assert retired.state is KeyState.RETIRED
    assert retired.destroy_after == retired.changed_at + 30 * DAY
    assert abs(datetime.now(UTC) - retired.changed_at) < timedelta(minutes=1)
    endings.restore(b"aaaa")
    restored = record_of(any_store, b"aaaa")
    assert (restored.state, restored.destroy_after) == (KeyState.DEACTIVATED, None)
    with pytest.raises(KeyringError, match="less than 180 seconds ago"):
        endings.retire(b"aaaa", 30 * DAY)
    let_time_pass(any_store.engine, timedelta(seconds=LEASE))
    endings.retire(b"aaaa", 7 * DAY)
    let_time_pass(any_store.engine, 7 * DAY - timedelta(minutes=1))
    with pytest.raises(KeyringError, match=r"61616161 waits until .* both must be past it"):
        endings.destroy(b"aaaa")
    let_time_pass(any_store.engine, timedelta(minutes=1))
    endings.destroy(b"aaaa")
    assert states(any_store) == {b"aaaa": KeyState.DESTROYED, b"bbbb": KeyState.ACTIVE}
    with pytest.raises(KeyringError, match=r"61616161 was destroyed at .* backup"):
        endings.restore(b"aaaa")


@pytest.mark.parametrize("ahead", [40 * DAY, -40 * DAY], ids=["ahead", "behind"])
@pytest.mark.parametrize("when", ["retiring", "destroying"])
def test_a_machine_whose_clock_is_wrong_cuts_no_wait_short(any_store: KeyStore, ahead: timedelta, when: str) -> None:
    wrong = KeyEndings(KeyStore(any_store.engine, now=lambda: datetime.now(UTC) + ahead), KEYRING, rest=LEASE)
    right = KeyEndings(any_store, KEYRING, rest=LEASE)
    with_keyring(any_store, record(b"aaaa"))
    retiring, destroying = (wrong, right) if when == "retiring" else (right, wrong)
    retiring.deactivate(b"aaaa")
    with pytest.raises(KeyringError, match="less than 180 seconds ago"):
        destroying.retire(b"aaaa", 30 * DAY)
    let_time_pass(any_store.engine, 100 * DAY)
    retiring.retire(b"aaaa", 30 * DAY)
    let_time_pass(any_store.engine, 29 * DAY)
    with pytest.raises(KeyringError, match=r"this machine's clock says .*, the database's"):
        destroying.destroy(b"aaaa")
    assert record_of(any_store, b"aaaa").kept


def test_a_clock_that_jumps_back_makes_the_wait_longer(any_store: KeyStore) -> None:
    jump = timedelta(0)
    store = KeyStore(any_store.engine, now=lambda: datetime.now(UTC) + jump)
    with_keyring(any_store, record(b"aaaa", state=KeyState.DEACTIVATED), record(b"bbbb", 2))
    endings = KeyEndings(store, KEYRING, rest=LEASE)
    endings.retire(b"aaaa", 7 * DAY)
    let_time_pass(any_store.engine, 8 * DAY)
    jump = -2 * DAY
    with pytest.raises(KeyringError, match="both must be past it"):
        endings.destroy(b"aaaa")
    jump = timedelta(0)
    endings.destroy(b"aaaa")


@pytest.mark.parametrize("key_id", [b"bbbb", b"cccc", b"zzzz"], ids=["active", "destroyed", "unknown"])
def test_only_a_key_that_no_longer_seals_is_retired(any_store: KeyStore, key_id: bytes) -> None:
    with_keyring(any_store, record(b"bbbb"), record(b"cccc", 2, KeyState.PRE_ACTIVE))
    end_at_once(any_store, KEYRING, b"cccc")
    before = any_store.load("main")
    endings = KeyEndings(any_store, KEYRING, rest=0)
    for step in (endings.require_retirable, lambda key: endings.retire(key, 30 * DAY)):
        with pytest.raises(KeyringError, match=r"active: rotate first|destroyed since|no key 7a7a7a7a"):
            step(key_id)
    assert any_store.load("main") == before


@pytest.mark.parametrize(
    ("state", "told"),
    [(KeyState.ACTIVE, "is active"), (KeyState.DEACTIVATED, "is deactivated"), (KeyState.PRE_ACTIVE, "is pre-active")],
)
def test_only_a_retired_key_is_destroyed_or_restored(any_store: KeyStore, state: KeyState, told: str) -> None:
    with_keyring(any_store, record(b"aaaa", state=state))
    endings = KeyEndings(any_store, KEYRING, rest=0)
    with pytest.raises(KeyringError, match=f"{told}.* a key is retired first"):
        endings.destroy(b"aaaa")
    with pytest.raises(KeyringError, match=f"{told}: only a retired key is restored"):
        endings.restore(b"aaaa")
    assert states(any_store) == {b"aaaa": state}


def test_a_key_of_another_keyring_is_left_alone(any_store: KeyStore) -> None:
    with_keyring(any_store, record(b"aaaa", state=KeyState.DEACTIVATED), record(b"bbbb", 2))
    others = KeyEndings(any_store, bytes(16), rest=0)
    for step in (others.deactivate, others.require_retirable, others.restore, others.destroy):
        with pytest.raises(KeyringError, match="no key 61616161"):
            step(b"aaaa")


def test_only_the_active_key_is_deactivated(any_store: KeyStore) -> None:
    with_keyring(any_store, record(b"aaaa"), record(b"bbbb", 2, KeyState.PRE_ACTIVE))
    endings = KeyEndings(any_store, KEYRING, rest=0)
    endings.deactivate(b"aaaa")
    assert any_store.load("main").active(Purpose.DATA) is None
    for key_id in (b"aaaa", b"bbbb"):
        with pytest.raises(KeyringError, match="only an active key is deactivated"):
            endings.deactivate(key_id)


def test_a_waiting_key_that_was_retired_waits_again_unless_its_turn_is_over(any_store: KeyStore) -> None:
    waiting, next_one = record(b"bbbb", 2, KeyState.PRE_ACTIVE), record(b"cccc", 3, KeyState.PRE_ACTIVE)
    with_keyring(any_store, record(b"aaaa"), waiting, next_one)
    endings = KeyEndings(any_store, KEYRING, rest=0)
    endings.retire(b"bbbb", 7 * DAY)
    endings.restore(b"bbbb")
    assert any_store.load("main").active(Purpose.DATA) == record_of(any_store, b"aaaa")
    assert record_of(any_store, b"bbbb").state is KeyState.PRE_ACTIVE
    endings.retire(b"bbbb", 7 * DAY)
    assert any_store.activate(next_one, instead_of=b"aaaa")
    endings.restore(b"bbbb")
    assert record_of(any_store, b"bbbb").state is KeyState.DEACTIVATED


def test_a_destroyed_key_leaves_a_tombstone_without_its_bytes(any_store: KeyStore) -> None:
    with_keyring(any_store, record(b"aaaa", state=KeyState.DEACTIVATED), record(b"bbbb", 2))
    endings = KeyEndings(any_store, KEYRING, rest=0)
    endings.retire(b"aaaa", timedelta(0))
    assert endings.require_destroyable(b"aaaa")
    endings.destroy(b"aaaa")
    assert not endings.require_destroyable(b"aaaa")
    endings.destroy(b"aaaa")
    with reading(any_store.engine) as connection:
        row = connection.execute(select(key_table).where(key_table.c.key_id == b"aaaa")).one()
    assert (row.state, row.wrapped, row.destroy_after) == ("destroyed", None, None)
    assert not record_of(any_store, b"aaaa").live


def files_of(store: KeyStore) -> bytes:
    """All that SQLite has on the disk: the database file and what lies beside it."""
    path = Path(str(store.engine.url.database))
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(f"{path.name}*")))


def test_the_wrapped_bytes_of_a_destroyed_key_are_overwritten_on_sqlite(store: KeyStore) -> None:
    with_keyring(store, record(b"aaaa", state=KeyState.DEACTIVATED), record(b"bbbb", 2))
    wrapped = record_of(store, b"aaaa").wrapped
    assert wrapped is not None
    assert wrapped.ciphertext in files_of(store)
    KeyEndings(store, KEYRING, rest=0).retire(b"aaaa", timedelta(0))
    KeyEndings(store, KEYRING, rest=0).destroy(b"aaaa")
    assert wrapped.ciphertext not in files_of(store)


def test_bytes_that_could_not_be_erased_are_told_and_erased_by_another_try(store: KeyStore) -> None:
    with_keyring(store, record(b"aaaa", state=KeyState.DEACTIVATED), record(b"bbbb", 2))
    wrapped = record_of(store, b"aaaa").wrapped
    assert wrapped is not None
    KeyEndings(store, KEYRING, rest=0).retire(b"aaaa", timedelta(0))
    with reading(store.engine) as slow, store.engine.connect() as other:
        slow.execute(select(key_table)).all()
        other.connection.cursor().execute("PRAGMA busy_timeout = 0")
        other.close()
        with pytest.raises(UnavailableError, match="log cannot be emptied"):
            KeyEndings(store, KEYRING, rest=0).destroy(b"aaaa")
    KeyEndings(store, KEYRING, rest=0).destroy(b"aaaa")
    assert wrapped.ciphertext not in files_of(store)


def end_in_a_race(wait: Callable[[], object], url: str, folder: str, keys: int) -> list[str]:
    """For each key one process destroys and the other restores, whoever comes first to do which."""
    endings, told = KeyEndings(KeyStore.from_url(url), KEYRING, rest=0), []
    for n in range(keys):
        key_id = bytes([97 + n] * 4)
        try:
            Path(folder, key_id.hex()).touch(exist_ok=False)
            step, name = endings.destroy, "destroyed"
        except FileExistsError:
            step, name = endings.restore, "restored"
        wait()
        try:
            step(key_id)
            told.append(name)
        except KeyringError as error:
            told.append(str(error))
    return told


def test_of_two_processes_that_destroy_and_restore_one_wins_and_both_are_told(
    any_store: KeyStore, database_url: str, tmp_path: Path
) -> None:
    keys = 8
    retired = [record(bytes([97 + n] * 4), n + 1, KeyState.DEACTIVATED) for n in range(keys)]
    with_keyring(any_store, *retired, record(b"zzzz", keys + 1))
    for one in retired:
        KeyEndings(any_store, KEYRING, rest=0).retire(one.key_id, timedelta(0))
    outcomes = list(zip(*race(end_in_a_race, database_url, str(tmp_path), keys), strict=True))
    for one, told in zip(retired, outcomes, strict=True):
        state = record_of(any_store, one.key_id).state
        won, lost = sorted(told, key=len)
        if state is KeyState.DESTROYED:
            assert won == "destroyed"
            assert "was destroyed at" in lost
        else:
            assert (state, won) == (KeyState.DEACTIVATED, "restored")
            assert "is deactivated and waits for nothing" in lost
