"""The key store: keyrings and wrapped keys on both kinds of database, also when two processes race."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text, update
from sqlalchemy.exc import IntegrityError

from kms.errors import CannotUnwrapError, KeyringError
from kms.key_database import reading, writing
from kms.key_record import KeyRecord, KeyringState, KeyState, Purpose
from kms.key_store import KeyStore
from kms.key_tables import key_table
from kms.locked_keyring import lock_keyring
from kms.new_key import new_key
from kms.provider import Wrapped
from kms.providers.local import LocalProvider
from kms.secret import SecretKey
from tests.kms.racing import race
from tests.kms.rested import end_at_once
from tests.open_files import open_files

KEYRING = bytes(15) + b"\1"
NOW = datetime(2026, 1, 1, 12, 30, 0, 123456, tzinfo=UTC)
PROVIDER = LocalProvider(SecretKey(bytes(32)))


def record(key_id: bytes, sequence: int = 1, state: KeyState = KeyState.ACTIVE, **changes: Any) -> KeyRecord:
    made = new_key(
        PROVIDER,
        keyring_id=changes.get("keyring_id", KEYRING),
        purpose=changes.get("purpose", Purpose.DATA),
        key_id=key_id,
        sequence=sequence,
        state=state,
        now=NOW,
        random=os.urandom,
    )
    return replace(made, **changes)


def with_keyring(store: KeyStore, *records: KeyRecord) -> KeyStore:
    assert store.create_keyring(KeyringState(KEYRING, "main", records))
    return store


def test_what_is_stored_is_loaded_unchanged(any_store: KeyStore) -> None:
    kept = (record(b"aaaa"), record(b"bbbb", purpose=Purpose.INDEX), record(b"cccc", purpose=Purpose.LEDGER))
    with_keyring(any_store, *kept)
    assert any_store.load("main") == KeyringState(KEYRING, "main", kept)


def test_all_keyrings_are_loaded_at_once_each_as_it_is_alone(any_store: KeyStore) -> None:
    other = b"\2" * 16
    with_keyring(any_store, record(b"aaaa"), record(b"bbbb", purpose=Purpose.INDEX))
    keys = (record(b"cccc", keyring_id=other), record(b"dddd", 2, KeyState.PRE_ACTIVE, keyring_id=other))
    assert any_store.create_keyring(KeyringState(other, "other", keys))
    found = {state.name: state for state in any_store.load_all()}
    assert found == {"main": any_store.load("main"), "other": any_store.load("other")}


def test_times_are_stored_as_utc_text(any_store: KeyStore) -> None:
    elsewhere = NOW.astimezone(timezone(timedelta(hours=5, minutes=30)))
    with_keyring(any_store, record(b"aaaa", created_at=elsewhere))
    with reading(any_store.engine) as connection:
        assert connection.execute(select(key_table.c.created_at)).scalar_one() == "2026-01-01T12:30:00.123456+00:00"
    assert any_store.load("main").records[0].created_at == NOW


def test_a_keyring_that_does_not_exist_is_told_as_such(any_store: KeyStore) -> None:
    with pytest.raises(KeyringError, match="no keyring called 'other': create it first"):
        any_store.load("other")


def test_a_name_serves_one_keyring(any_store: KeyStore) -> None:
    with_keyring(any_store, record(b"aaaa"))
    with pytest.raises(KeyringError, match="called 'main' already"):
        any_store.create_keyring(KeyringState(bytes(16), "main", (record(b"bbbb", keyring_id=bytes(16)),)))
    assert any_store.names() == ["main"]


def test_key_ids_are_unique_in_the_whole_store_tombstones_included(any_store: KeyStore) -> None:
    with_keyring(any_store, record(b"aaaa", state=KeyState.DEACTIVATED), record(b"bbbb", 2))
    end_at_once(any_store, KEYRING, b"aaaa")
    other = bytes(16)
    assert not any_store.create_keyring(KeyringState(other, "second", (record(b"aaaa", keyring_id=other),)))
    assert any_store.names() == ["main"], "a keyring whose keys were refused must not stay behind"
    assert not any_store.add(record(b"aaaa", 3, KeyState.PRE_ACTIVE))
    assert not any_store.activate(record(b"aaaa", 3), instead_of=b"bbbb")
    assert any_store.load("main").active(Purpose.DATA) == record_of(any_store, b"bbbb")


def record_of(store: KeyStore, key_id: bytes) -> KeyRecord:
    found = store.load("main").find(key_id)
    assert found is not None
    return found


def test_activating_deactivates_the_key_that_was(any_store: KeyStore) -> None:
    with_keyring(any_store, record(b"aaaa"), record(b"cccc", purpose=Purpose.INDEX))
    assert any_store.activate(record(b"bbbb", 2), instead_of=b"aaaa")
    assert record_of(any_store, b"aaaa").state is KeyState.DEACTIVATED
    assert record_of(any_store, b"aaaa").changed_at > NOW
    assert record_of(any_store, b"bbbb").state is KeyState.ACTIVE
    assert record_of(any_store, b"cccc").state is KeyState.ACTIVE


def test_a_key_that_waits_is_activated_where_it_stands(any_store: KeyStore) -> None:
    with_keyring(any_store, record(b"aaaa"))
    waiting = record(b"bbbb", 2, KeyState.PRE_ACTIVE)
    assert any_store.add(waiting)
    assert any_store.activate(waiting, instead_of=b"aaaa")
    assert record_of(any_store, b"bbbb").wrapped == waiting.wrapped
    assert [r.state for r in any_store.load("main").records] == [KeyState.DEACTIVATED, KeyState.ACTIVE]


@pytest.mark.parametrize(
    ("new", "instead_of"),
    [
        (record(b"cccc", 3), b"aaaa"),  # someone rotated meanwhile
        (record(b"cccc", 2), b"bbbb"),  # the sequence is taken
        (record(b"cccc", 1), b"bbbb"),
    ],
    ids=["rotated meanwhile", "sequence taken", "sequence lower"],
)
def test_activating_on_old_news_changes_nothing(any_store: KeyStore, new: KeyRecord, instead_of: bytes) -> None:
    with_keyring(any_store, record(b"aaaa", state=KeyState.DEACTIVATED), record(b"bbbb", 2))
    before = any_store.load("main")
    assert not any_store.activate(new, instead_of=instead_of)
    assert any_store.load("main") == before


def test_a_key_is_added_as_pre_active_only(any_store: KeyStore) -> None:
    with pytest.raises(KeyringError, match="pre-active"):
        any_store.add(record(b"aaaa"))


def test_wrapped_bytes_swapped_by_sql_open_in_neither_place(any_store: KeyStore) -> None:
    with_keyring(any_store, record(b"aaaa", state=KeyState.DEACTIVATED), record(b"bbbb", 2))
    one, two = record_of(any_store, b"aaaa").wrapped, record_of(any_store, b"bbbb").wrapped
    assert one is not None
    assert two is not None
    with writing(any_store.engine) as connection:
        for key_id, other in ((b"aaaa", two), (b"bbbb", one)):
            statement = update(key_table).where(key_table.c.key_id == key_id)
            connection.execute(statement.values(wrapped=other.ciphertext))
    for swapped in any_store.load("main").records:
        assert swapped.wrapped is not None
        with pytest.raises(CannotUnwrapError):
            PROVIDER.unwrap([(swapped.wrapped, swapped.context)])


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("state", "asleep"),
        ("state", "destroyed"),
        ("purpose", "fun"),
        ("sequence", 0),
        ("created_at", "yesterday"),
        ("changed_at", "2026-01-01"),
        ("destroy_after", "2026-01-01T00:00:00.000000+00:00"),
        ("state", "retired"),
    ],
)
def test_a_row_changed_by_hand_is_told_as_such(any_store: KeyStore, column: str, value: object) -> None:
    with_keyring(any_store, record(b"aaaa"))
    with writing(any_store.engine) as connection:
        connection.execute(update(key_table).values({column: value}))
    with pytest.raises(KeyringError, match="61616161 makes no sense"):
        any_store.load("main")


@pytest.mark.parametrize("change", ["sequence = 'x'", "sequence = 1.5", "wrapped = 'abc'", "wrapped = 5"])
def test_a_value_of_another_type_in_sqlite_is_told_as_such(store: KeyStore, change: str) -> None:
    with_keyring(store, record(b"aaaa"))
    with writing(store.engine) as connection:
        connection.execute(text(f"UPDATE noisevault_key SET {change}"))
    with pytest.raises(KeyringError, match="61616161 makes no sense"):
        store.load("main")


def test_a_database_without_the_tables_is_told_from_a_key_store(database_url: str) -> None:
    with closing(KeyStore.from_url(database_url)) as store:
        assert not store.has_schema()
        store.create_schema()
        assert store.has_schema()


def test_the_schema_can_be_created_again(any_store: KeyStore) -> None:
    any_store.create_schema()
    any_store.check_schema()


def test_the_database_itself_refuses_a_second_key_of_one_sequence(any_store: KeyStore) -> None:
    with_keyring(any_store, record(b"aaaa"))
    columns = "keyring_id, purpose, sequence, state, wrapped, kek, kek_version, created_at, changed_at"
    twin = text(f"INSERT INTO noisevault_key (key_id, {columns}) SELECT :id, {columns} FROM noisevault_key")
    with writing(any_store.engine) as connection, pytest.raises(IntegrityError):
        connection.execute(twin, {"id": b"bbbb"})


def test_a_closed_store_has_no_file_open_until_it_is_used_again(store: KeyStore, tmp_path: Path) -> None:
    assert store.names() == []
    assert open_files(tmp_path) >= {"keys.db"}
    store.close()
    assert open_files(tmp_path) == set()
    assert store.names() == []


def test_what_is_in_use_while_the_store_is_closed_is_closed_when_it_is_given_back(
    store: KeyStore, tmp_path: Path
) -> None:
    with reading(store.engine):
        store.close()
        assert open_files(tmp_path) >= {"keys.db"}
    assert open_files(tmp_path) == set()
    assert store.names() == []
    assert open_files(tmp_path) == set()


def test_a_row_that_makes_no_sense_keeps_no_file_open(store: KeyStore, tmp_path: Path) -> None:
    with_keyring(store, record(b"abcd"), record(b"efgh", 2))
    with writing(store.engine) as connection:
        connection.execute(update(key_table).values(state="asleep"))
    with pytest.raises(KeyringError) as refused:
        store.load("main")
    store.close()
    assert open_files(tmp_path) == set(), refused


def test_a_forked_child_makes_connections_of_its_own(store: KeyStore) -> None:
    before = store.engine.pool
    store.forget_after_fork()
    assert store.engine.pool is not before
    assert store._parents is before, "SQLite must not even close them in a child"
    before.dispose()  # this was no child


DAEMON = """
import os, sys, time
from kms import KeyStore
from tests.kms.test_key_store import record
store = KeyStore.from_url(sys.argv[1])
store.load("main")
parent = os.getpid()
if os.fork():
    os._exit(0)
while os.getppid() == parent:
    time.sleep(0.01)
store.load("main")
print("ready", flush=True)
sys.stdin.readline()
print(store.activate(record(b"bbbb", 2), instead_of=b"aaaa"), flush=True)
sys.stdin.readline()
"""


def test_what_a_daemon_stores_is_seen_by_others(store: KeyStore) -> None:
    """SQLite takes a process's locks once: a child that inherited its parent's would hold none when that has ended."""
    with_keyring(store, record(b"aaaa"))
    store.close()
    url = store.engine.url.render_as_string()
    command = [sys.executable, "-c", DAEMON, url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as daemon:
        assert daemon.stdin is not None
        assert daemon.stdout is not None
        assert daemon.stdout.readline() == "ready\n"
        assert [r.key_id for r in store.load("main").records] == [b"aaaa"]
        store.close()  # the last one that closes the file deletes its log
        daemon.stdin.write("\n")
        daemon.stdin.flush()
        assert daemon.stdout.readline() == "True\n"
        assert [r.key_id for r in store.load("main").records] == [b"aaaa", b"bbbb"]


def create_schema_in_a_race(wait: Callable[[], object], url: str) -> str:
    store = KeyStore.from_url(url)
    wait()
    store.create_schema()
    store.check_schema()
    return "created"


def test_two_processes_create_the_schema_at_once(database_url: str) -> None:
    assert race(create_schema_in_a_race, database_url, processes=3) == ["created"] * 3


def test_changes_to_one_keyring_queue(any_store: KeyStore) -> None:
    """Else one process could activate a new key while another activates a waiting one: two would be ACTIVE."""
    with_keyring(any_store, record(b"aaaa"))
    waiting = record(b"bbbb", 2, KeyState.PRE_ACTIVE)
    assert any_store.add(waiting)
    results: list[bool] = []
    late = threading.Thread(target=lambda: results.append(any_store.activate(record(b"cccc", 3), instead_of=b"aaaa")))
    with writing(any_store.engine) as connection:
        lock_keyring(connection, KEYRING)
        late.start()
        late.join(0.5)
        assert late.is_alive()
        for key_id, state in ((b"aaaa", "deactivated"), (b"bbbb", "active")):
            connection.execute(update(key_table).where(key_table.c.key_id == key_id).values(state=state))
    late.join()
    assert results == [False]


def activate_in_a_race(wait: Callable[[], object], url: str) -> bool:
    store = KeyStore.from_url(url)
    new = record(os.urandom(4), 2)
    wait()
    return store.activate(new, instead_of=b"aaaa")


def test_of_two_processes_that_activate_a_key_one_wins(any_store: KeyStore, database_url: str) -> None:
    with_keyring(any_store, record(b"aaaa"))
    assert sorted(race(activate_in_a_race, database_url)) == [False, True]
    states = [r.state for r in any_store.load("main").records]
    assert states == [KeyState.DEACTIVATED, KeyState.ACTIVE]


def test_wrapped_bytes_are_replaced_only_where_they_are_what_they_were(any_store: KeyStore) -> None:
    one, two = record(b"aaaa", state=KeyState.DEACTIVATED), record(b"bbbb", 2)
    with_keyring(any_store, one, two)
    new, late = Wrapped(b"new", "kek", "2"), Wrapped(b"late", "kek", "3")
    assert any_store.replace_wrapped([(one, new), (two, new)]) == {b"aaaa", b"bbbb"}
    assert any_store.load("main").records == (replace(one, wrapped=new), replace(two, wrapped=new))
    assert any_store.replace_wrapped([(one, late), (replace(two, wrapped=new), late)]) == {b"bbbb"}
    assert any_store.load("main").records == (replace(one, wrapped=new), replace(two, wrapped=late))
    end_at_once(any_store, KEYRING, b"aaaa")
    assert any_store.replace_wrapped([(replace(one, wrapped=new), late)]) == frozenset()
    assert any_store.replace_wrapped([]) == frozenset()
