"""Seals are counted ahead: never too few, whatever dies, and never past the limit."""

import logging
import os
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import update

from kms.errors import KeyringError, SealLimitError
from kms.key_database import writing
from kms.key_record import KeyringState, KeyState, Purpose
from kms.key_store import KeyStore
from kms.key_tables import seal_count_table
from kms.new_key import new_key
from kms.seal_counter import (
    LARGEST_BLOCK,
    ROTATE_AFTER_SEALS,
    SMALLEST_BLOCK,
    SP_800_38D_MAX_SEALS,
    SealBlock,
    SealCounter,
    reservation,
)
from tests.kms.racing import race
from tests.kms.scripted_provider import ScriptedProvider

KEY_ID = b"\1\2\3\4"
LABEL = "patients.email"
PLACE = (KEY_ID, LABEL)
numbers = st.integers(0, SP_800_38D_MAX_SEALS)


def with_key(store: KeyStore) -> SealCounter:
    record = new_key(
        ScriptedProvider(),
        keyring_id=bytes(16),
        purpose=Purpose.DATA,
        key_id=KEY_ID,
        sequence=1,
        state=KeyState.ACTIVE,
        now=datetime(2026, 1, 1, tzinfo=UTC),
        random=os.urandom,
    )
    assert store.create_keyring(KeyringState(bytes(16), "main", (record,)))
    return SealCounter(store.engine)


def pretend(store: KeyStore, counted: int) -> None:
    with writing(store.engine) as connection:
        connection.execute(update(seal_count_table).values(counted=counted))


@given(counted=numbers, missing=st.integers(1, 2**33), wish=st.integers(1, LARGEST_BLOCK))
def test_a_reservation_covers_what_is_missing_or_is_nothing(counted: int, missing: int, wish: int) -> None:
    reserved = reservation(counted, missing, wish)
    assert counted + reserved <= SP_800_38D_MAX_SEALS
    assert reserved >= missing or reserved == 0
    assert (reserved == 0) == (counted + missing > SP_800_38D_MAX_SEALS)


@given(st.lists(st.integers(0, 5000), max_size=60))
def test_however_seals_are_asked_for_the_count_is_ahead_of_them(asked: list[int]) -> None:
    block, counted, sealed = SealBlock(), 0, 0
    for n in asked:
        missing = block.missing(n)
        if missing:
            reserved = reservation(counted, missing, block.wish)
            block, counted = block.refilled(reserved), counted + reserved
        block, sealed = block.spent(n), sealed + n
        assert counted == sealed + block.left
    assert counted <= sealed + LARGEST_BLOCK


def test_blocks_grow_from_256_to_a_million() -> None:
    block, wishes = SealBlock(), []
    for _ in range(9):
        wishes.append(block.wish)
        block = block.refilled(block.wish)
    assert wishes[:3] == [SMALLEST_BLOCK, 1024, 4096]
    assert wishes[-1] == LARGEST_BLOCK == 2**20


def test_a_block_covers_no_more_than_it_has() -> None:
    with pytest.raises(ValueError, match="covers 3 seals, not 4"):
        SealBlock(left=3).spent(4)


def test_the_database_is_asked_for_blocks_only(any_store: KeyStore) -> None:
    counter = with_key(any_store)
    for _ in range(256):
        counter.reserve(KEY_ID, LABEL, 1)
    assert counter.counts() == {PLACE: 256}
    counter.reserve(KEY_ID, LABEL, 1)
    assert counter.counts() == {PLACE: 256 + 1024}
    counter.reserve(KEY_ID, "patients.phone", 10_000)
    assert counter.counts() == {PLACE: 1280, (KEY_ID, "patients.phone"): 10_000}


def test_another_process_counts_on_top(any_store: KeyStore) -> None:
    with_key(any_store).reserve(KEY_ID, LABEL, 1)
    other = SealCounter(any_store.engine)
    other.reserve(KEY_ID, LABEL, 1)
    assert other.counts() == {PLACE: 512}


def test_sealing_stops_exactly_at_the_limit(any_store: KeyStore) -> None:
    counter = with_key(any_store)
    counter.reserve(KEY_ID, LABEL, 256)
    pretend(any_store, SP_800_38D_MAX_SEALS - 2)
    counter.reserve(KEY_ID, LABEL, 1)
    counter.reserve(KEY_ID, LABEL, 1)
    for _ in range(2):
        with pytest.raises(SealLimitError, match=r"01020304 has sealed 4294967296 values of patients.email.* rotate"):
            counter.reserve(KEY_ID, LABEL, 1)
    assert counter.counts() == {PLACE: SP_800_38D_MAX_SEALS}


def test_a_batch_that_does_not_fit_takes_nothing(any_store: KeyStore) -> None:
    counter = with_key(any_store)
    counter.reserve(KEY_ID, LABEL, 256)
    pretend(any_store, SP_800_38D_MAX_SEALS - 10)
    with pytest.raises(SealLimitError):
        counter.reserve(KEY_ID, LABEL, 11)
    counter.reserve(KEY_ID, LABEL, 10)


def test_half_of_the_limit_is_warned_of(store: KeyStore, caplog: pytest.LogCaptureFixture) -> None:
    counter = with_key(store)
    counter.reserve(KEY_ID, LABEL, 256)
    assert not caplog.records
    pretend(store, ROTATE_AFTER_SEALS)
    with caplog.at_level(logging.WARNING):
        counter.reserve(KEY_ID, LABEL, 1)
    assert "rotate it" in caplog.text
    assert "01020304" in caplog.text


def test_a_key_that_is_not_in_the_store_is_not_counted(any_store: KeyStore) -> None:
    with pytest.raises(KeyringError, match="not in this store"):
        with_key(any_store).reserve(bytes(4), LABEL, 1)


@pytest.mark.parametrize(("label", "n"), [(LABEL, -1), ("", 1), ("x" * 301, 1)])
def test_nonsense_is_refused(store: KeyStore, label: str, n: int) -> None:
    with pytest.raises(ValueError, match=r"seals|label"):
        SealCounter(store.engine).reserve(KEY_ID, label, n)


def test_threads_share_the_blocks(store: KeyStore) -> None:
    counter = with_key(store)

    def seal() -> None:
        for _ in range(2000):
            counter.reserve(KEY_ID, LABEL, 1)

    threads = [threading.Thread(target=seal) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counted = counter.counts()[PLACE]
    assert counted - counter._blocks[PLACE].left == 8000


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_does_not_use_its_parents_block(store: KeyStore) -> None:
    counter = with_key(store)
    counter.reserve(KEY_ID, LABEL, 1)
    pid = os.fork()
    if pid == 0:
        try:
            counter.reserve(KEY_ID, LABEL, 1)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    assert counter.counts() == {PLACE: 512}


PROGRAM = """
import sys
from kms.key_store import KeyStore
from kms.seal_counter import SealCounter
counter = SealCounter(KeyStore.from_url(sys.argv[1]).engine)
for sealed in range(1, 10**6):
    counter.reserve(b"\\1\\2\\3\\4", "patients.email", 1)
    print(sealed, flush=True)  # the seal
"""


def test_kill_9_counts_too_many_and_never_too_few(any_store: KeyStore, database_url: str, tmp_path: Path) -> None:
    counter = with_key(any_store)
    command = [sys.executable, "-c", PROGRAM, database_url]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        sealed = 0
        while sealed < 700:
            sealed = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read().split()
        sealed = max([sealed, *map(int, rest[:-1])])
    assert sealed <= counter.counts()[PLACE] <= sealed + LARGEST_BLOCK


def count_in_a_race(wait: object, url: str) -> int:
    counter = SealCounter(KeyStore.from_url(url).engine)
    wait()  # type: ignore[operator]
    for _ in range(10):
        counter.reserve(KEY_ID, LABEL, 5000)
    return 10 * 5000 + counter._blocks[PLACE].left


def test_two_processes_count_together_from_the_first_row_on(any_store: KeyStore, database_url: str) -> None:
    counter = with_key(any_store)
    counted = race(count_in_a_race, database_url)
    assert counter.counts()[PLACE] == sum(counted)


def unchanged(key_id: bytes) -> bytes | None:
    return key_id


def test_a_block_that_is_half_spent_is_told_and_topped_up(any_store: KeyStore) -> None:
    with_key(any_store)
    told: list[int] = []
    counter = SealCounter(any_store.engine, lambda: told.append(1))
    counter.reserve(KEY_ID, LABEL, 128)
    assert told == []
    counter.reserve(KEY_ID, LABEL, 1)
    assert told == [1]
    counter.top_up(unchanged)
    assert counter.counts() == {PLACE: 256 + 1024}
    counter.top_up(unchanged)
    assert counter.counts() == {PLACE: 256 + 1024}
    for _ in range(127 + 512):
        counter.reserve(KEY_ID, LABEL, 1)
    assert told == [1]
    assert counter.counts() == {PLACE: 256 + 1024}


def test_what_is_topped_up_while_others_seal_is_neither_lost_nor_counted_twice(store: KeyStore) -> None:
    with_key(store)
    counter = SealCounter(store.engine)
    sealed = 0

    def seal() -> None:
        for _ in range(3000):
            counter.reserve(KEY_ID, LABEL, 1)

    threads = [threading.Thread(target=seal) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        counter.top_up(unchanged)
    for thread in threads:
        thread.join()
        sealed += 3000
    (counted,) = counter.counts().values()
    assert counted == sealed + counter._blocks[PLACE].left


def test_labels_that_were_not_counted_here_are_counted_ahead_for_the_key_that_will_seal_them(store: KeyStore) -> None:
    counter = with_key(store)
    counter.top_up(unchanged, ["patients.email", "patients.phone"], KEY_ID)
    assert counter.counts() == {PLACE: 4096, (KEY_ID, "patients.phone"): 4096}
    counter.reserve(KEY_ID, "patients.phone", 2000)
    counter.top_up(unchanged, ["patients.phone"], KEY_ID)
    assert counter.counts()[KEY_ID, "patients.phone"] == 4096


def test_topping_up_leaves_the_limit_to_whoever_seals(store: KeyStore) -> None:
    counter = with_key(store)
    counter.reserve(KEY_ID, LABEL, 256)
    pretend(store, SP_800_38D_MAX_SEALS)
    counter.top_up(unchanged)
    with pytest.raises(SealLimitError):
        counter.reserve(KEY_ID, LABEL, 1)


def test_a_key_that_no_other_follows_is_not_topped_up(store: KeyStore) -> None:
    counter = with_key(store)
    counter.reserve(KEY_ID, LABEL, 256)
    counter.top_up(lambda _: None)
    assert counter.counts() == {PLACE: 256}
