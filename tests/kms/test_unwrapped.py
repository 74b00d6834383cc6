"""Unwrapped keys: refreshed after the soft lease, kept through an outage until the hard one, ended by a refusal."""

import os
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from kms.errors import (
    AccessDeniedError,
    CannotUnwrapError,
    KeyDestroyedError,
    KeyDisabledError,
    KeyNotFoundError,
    KeyRetiredError,
    KeyVersionRetiredError,
    KmsError,
    LoginExpiredError,
    MisconfiguredError,
    UnavailableError,
)
from kms.key_record import KeyRecord, KeyState, Purpose
from kms.lease import LeaseSettings
from kms.new_key import new_key
from kms.unwrapped import UnwrappedKeys
from tests.kms.manual_clock import ManualClock
from tests.kms.scripted_provider import ScriptedProvider

DOWN = UnavailableError("down")
REFUSALS = [
    AccessDeniedError,
    LoginExpiredError,
    KeyNotFoundError,
    KeyDisabledError,
    KeyVersionRetiredError,
    CannotUnwrapError,
    MisconfiguredError,
]


def records(provider: ScriptedProvider, number: int) -> list[KeyRecord]:
    return [
        new_key(
            provider,
            keyring_id=bytes(16),
            purpose=Purpose.DATA,
            key_id=sequence.to_bytes(4, "big"),
            sequence=sequence,
            state=KeyState.ACTIVE,
            now=datetime(2026, 1, 1, tzinfo=UTC),
            random=os.urandom,
        )
        for sequence in range(1, number + 1)
    ]


@pytest.fixture
def kept(provider: ScriptedProvider) -> list[KeyRecord]:
    made = records(provider, 3)
    provider.batches.clear()
    return made


@pytest.fixture
def keys(provider: ScriptedProvider, clock: ManualClock, kept: list[KeyRecord]) -> UnwrappedKeys:
    keys = UnwrappedKeys("main", provider, LeaseSettings(), clock)
    keys.on_news(kept)
    return keys


def test_a_key_is_unwrapped_once_a_soft_lease(
    keys: UnwrappedKeys, kept: list[KeyRecord], provider: ScriptedProvider, clock: ManualClock
) -> None:
    first = keys.get(kept[0])
    clock.advance(299)
    assert keys.get(kept[0]) is first
    assert provider.batches == [1]
    clock.advance(1)
    assert keys.get(kept[0]).key is first.key, "a key that did not change stays the same object"
    assert provider.batches == [1, 1]


def test_the_lease_runs_from_before_the_request(
    keys: UnwrappedKeys, kept: list[KeyRecord], provider: ScriptedProvider, clock: ManualClock
) -> None:
    start = clock()
    provider.before = lambda: clock.advance(10)
    held = keys.get(kept[0])
    assert (held.soft, held.hard) == (start + 300, start + 3600)


def test_an_outage_is_survived_until_the_hard_lease_and_asked_about_every_5_seconds(
    keys: UnwrappedKeys, kept: list[KeyRecord], provider: ScriptedProvider, clock: ManualClock
) -> None:
    start = clock()
    keys.get(kept[0])
    provider.fail = DOWN
    provider.batches.clear()
    while clock() < start + 3600:
        assert keys.get(kept[0]).hard == start + 3600
        clock.advance(1)
    assert len(provider.batches) == (3600 - 300) / 5
    with pytest.raises(UnavailableError):
        keys.get(kept[0])
    assert keys.peek(kept[0].key_id) is None
    provider.fail = None
    assert keys.get(kept[0]).soft == clock() + 300


def test_a_key_that_was_never_opened_is_not_there_in_an_outage(
    keys: UnwrappedKeys, kept: list[KeyRecord], provider: ScriptedProvider
) -> None:
    provider.fail = DOWN
    with pytest.raises(UnavailableError):
        keys.get(kept[0])


def test_an_outage_that_lasts_past_the_hard_lease_while_asking_ends_the_key(
    keys: UnwrappedKeys, kept: list[KeyRecord], provider: ScriptedProvider, clock: ManualClock
) -> None:
    keys.get(kept[0])
    clock.advance(3595)
    provider.fail, provider.before = DOWN, lambda: clock.advance(6)
    with pytest.raises(UnavailableError):
        keys.get(kept[0])


@pytest.mark.parametrize("refusal", REFUSALS)
def test_any_other_answer_ends_the_key_at_once(
    keys: UnwrappedKeys,
    kept: list[KeyRecord],
    provider: ScriptedProvider,
    clock: ManualClock,
    refusal: type[KmsError],
) -> None:
    keys.get(kept[0])
    clock.advance(300)
    provider.fail = refusal("no")
    with pytest.raises(refusal):
        keys.get(kept[0])
    assert keys.peek(kept[0].key_id) is None
    provider.fail = DOWN
    with pytest.raises(UnavailableError):
        keys.get(kept[0])


def test_keys_that_are_due_are_refreshed_together(
    keys: UnwrappedKeys, kept: list[KeyRecord], provider: ScriptedProvider, clock: ManualClock
) -> None:
    keys.open_all(kept)
    assert provider.batches == [3]
    keys.open_all(kept)
    clock.advance(300)
    keys.get(kept[1])
    keys.get(kept[0])
    assert provider.batches == [3, 3]


def test_one_key_that_does_not_open_does_not_stop_the_others(
    keys: UnwrappedKeys, kept: list[KeyRecord], provider: ScriptedProvider, clock: ManualClock
) -> None:
    keys.open_all(kept)
    clock.advance(300)
    provider.refuse[kept[2].context] = CannotUnwrapError("changed")
    assert keys.get(kept[0]).soft == clock() + 300
    assert keys.get(kept[1]).soft == clock() + 300
    with pytest.raises(CannotUnwrapError):
        keys.get(kept[2])


def test_a_key_that_was_destroyed_is_dropped_with_the_news(keys: UnwrappedKeys, kept: list[KeyRecord]) -> None:
    keys.open_all(kept)
    keys.on_news([replace(kept[0], state=KeyState.DESTROYED, wrapped=None), kept[1]])
    assert keys.peek(kept[0].key_id) is None
    assert keys.peek(kept[1].key_id) is not None
    assert keys.peek(kept[2].key_id) is None


def test_news_of_a_destruction_outrun_an_answer_that_was_under_way(
    keys: UnwrappedKeys, kept: list[KeyRecord], provider: ScriptedProvider
) -> None:
    provider.before = lambda: keys.on_news(kept[1:])
    with pytest.raises(KeyDestroyedError):
        keys.get(kept[0])
    assert keys.peek(kept[0].key_id) is None


def test_news_that_a_key_was_retired_are_told_as_such(
    keys: UnwrappedKeys, kept: list[KeyRecord], provider: ScriptedProvider
) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    retired = replace(kept[0], state=KeyState.RETIRED, destroy_after=now)
    keys.get(kept[0])
    keys.on_news([retired, *kept[1:]])
    assert keys.peek(kept[0].key_id) is None
    keys.on_news(kept)
    provider.before = lambda: keys.on_news([retired, *kept[1:]])
    with pytest.raises(KeyRetiredError, match="keys restore 00000001"):
        keys.get(kept[0])


def test_while_one_thread_asks_the_others_go_on(
    keys: UnwrappedKeys, kept: list[KeyRecord], provider: ScriptedProvider, clock: ManualClock
) -> None:
    held = keys.get(kept[0])
    clock.advance(300)
    asking, gate = threading.Event(), threading.Event()

    def slowly() -> None:
        asking.set()
        gate.wait(10)

    provider.before = slowly
    thread = threading.Thread(target=keys.get, args=(kept[0],))
    thread.start()
    assert asking.wait(10)
    assert keys.get(kept[0]) is held
    gate.set()
    thread.join()
    assert keys.get(kept[0]).soft == clock() + 300


def test_threads_that_meet_a_new_key_make_one_call(
    keys: UnwrappedKeys, kept: list[KeyRecord], provider: ScriptedProvider
) -> None:
    gate = threading.Event()
    provider.before = lambda: gate.wait(10) and None
    threads = [threading.Thread(target=keys.get, args=(kept[0],)) for _ in range(8)]
    for thread in threads:
        thread.start()
    gate.set()
    for thread in threads:
        thread.join()
    assert provider.batches == [1]


def test_threads_that_wait_share_an_outage(
    keys: UnwrappedKeys, kept: list[KeyRecord], provider: ScriptedProvider
) -> None:
    gate = threading.Event()
    provider.before, provider.fail = lambda: gate.wait(10) and None, DOWN
    failures: list[KmsError] = []

    def ask() -> None:
        try:
            keys.get(kept[0])
        except UnavailableError as error:
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)  # one asks and is held at the gate, seven have come to the lock
    gate.set()
    for thread in threads:
        thread.join()
    assert [str(error) for error in failures] == ["down"] * 8
    assert provider.batches == [1]
    provider.fail = None
    assert keys.get(kept[0]).key.key_id == kept[0].key_id


def test_an_outage_is_met_once_for_all_keys_that_are_due(
    keys: UnwrappedKeys, kept: list[KeyRecord], provider: ScriptedProvider, clock: ManualClock
) -> None:
    keys.open_all(kept)
    clock.advance(300)
    provider.fail = DOWN
    for record in kept:
        assert keys.get(record).soft == clock() + 5
    assert provider.batches == [3, 3]


def test_a_forked_child_holds_nothing_and_is_not_stuck(keys: UnwrappedKeys, kept: list[KeyRecord]) -> None:
    keys.open_all(kept)
    keys._lock.acquire()
    keys.forget_after_fork()
    assert keys.peek(kept[0].key_id) is None
    keys.on_news(kept)
    assert keys.get(kept[0]).key.key_id == kept[0].key_id


@pytest.mark.parametrize("changes", [{"sequence": 9}, {"purpose": Purpose.INDEX}], ids=str)
def test_a_key_that_is_held_serves_no_record_that_gives_it_another_place(
    keys: UnwrappedKeys, kept: list[KeyRecord], changes: dict[str, Any]
) -> None:
    keys.get(kept[0])
    keys.on_news([moved := replace(kept[0], **changes)])
    assert keys.peek(kept[0].key_id) is None
    with pytest.raises(CannotUnwrapError):
        keys.get(moved)
