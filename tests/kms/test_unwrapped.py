"""Unwrapped keys: refreshed after the soft lease, kept through an outage until the hard one, ended by a refusal."""

import os
import threading
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
from tests.kms.waiting import CountedLock

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
    clock.advance(5)  # a refusal is remembered for so long
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

    keys._lock = lock = CountedLock()  # type: ignore[assignment]
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    lock.wait_for(8)  # one asks and is held at the gate, seven have come to the lock
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


def attended(kept: list[KeyRecord], provider: ScriptedProvider, clock: ManualClock, **settings: Any) -> UnwrappedKeys:
    keys = UnwrappedKeys("main", provider, LeaseSettings(), clock, attended=lambda: True, **settings)
    keys.on_news(kept)
    return keys


def test_where_a_thread_attends_callers_use_a_key_in_its_hard_lease_and_do_not_ask(
    kept: list[KeyRecord], provider: ScriptedProvider, clock: ManualClock
) -> None:
    keys = attended(kept, provider, clock)
    held = keys.get(kept[0])
    clock.advance(3599)
    assert keys.get(kept[0]) is held
    assert provider.batches == [1]
    clock.advance(1)
    assert keys.get(kept[0]) is not held
    assert provider.batches == [1, 1]


def test_where_a_thread_attends_callers_without_a_key_learn_of_an_outage_at_once(
    kept: list[KeyRecord], provider: ScriptedProvider, clock: ManualClock
) -> None:
    keys = attended(kept, provider, clock)
    provider.fail = DOWN
    for _ in range(3):
        with pytest.raises(UnavailableError, match="down"):
            keys.get(kept[0])
    assert provider.batches == [1]
    clock.advance(5)
    provider.fail = None
    with pytest.raises(UnavailableError, match="down"):
        keys.get(kept[0])  # it is the thread that finds out whether the service is back
    assert keys.wanted == {kept[0].key_id}
    assert keys.refresh(kept[:1], clock()) == {}
    assert keys.get(kept[0]).key.key_id == kept[0].key_id
    assert keys.wanted == set()


def test_a_thread_that_does_not_come_back_keeps_nobody_from_asking(
    kept: list[KeyRecord], provider: ScriptedProvider, clock: ManualClock
) -> None:
    keys = attended(kept, provider, clock)
    provider.fail = DOWN
    with pytest.raises(UnavailableError):
        keys.get(kept[0])
    provider.fail = None
    clock.advance(65)
    assert keys.get(kept[0]).key.key_id == kept[0].key_id


def test_a_refresh_lengthens_the_leases_that_callers_have(
    keys: UnwrappedKeys, kept: list[KeyRecord], clock: ManualClock, provider: ScriptedProvider
) -> None:
    keys.open_all(kept)
    leased = keys.get(kept[0]).leased
    clock.advance(200)
    assert keys.refresh(kept, clock() + 99) == {}
    assert leased.until == 1300
    assert keys.refresh(kept, clock() + 100) == {}
    assert leased.until == clock() + 300
    assert keys.get(kept[0]).leased is leased
    assert provider.batches == [3, 3]
    keys.on_news(kept[1:])
    assert leased.until < clock(), "it ends whoever has it"


def test_an_outage_does_not_shorten_a_lease(
    keys: UnwrappedKeys, kept: list[KeyRecord], provider: ScriptedProvider, clock: ManualClock
) -> None:
    leased = keys.get(kept[0]).leased
    clock.advance(200)
    provider.fail = DOWN
    assert keys.refresh(kept[:1], clock() + 150) == {}
    assert leased.until == 1300
    assert (keys.outage, keys.retry_at) == ("down", clock() + 5)


def test_a_caller_does_not_wait_for_ever_for_a_request_of_another(
    kept: list[KeyRecord], provider: ScriptedProvider, clock: ManualClock
) -> None:
    keys = UnwrappedKeys("main", provider, LeaseSettings(), clock, patience=0.02)
    with keys._lock, pytest.raises(UnavailableError, match="'main' has not answered"):
        keys.get(kept[0])


@pytest.mark.parametrize("ended_by", ["clock", "news"])
def test_what_ends_while_it_is_asked_for_is_not_leased_anew(
    keys: UnwrappedKeys, kept: list[KeyRecord], provider: ScriptedProvider, clock: ManualClock, ended_by: str
) -> None:
    leased = keys.get(kept[0]).leased
    clock.advance(300)
    provider.before = keys.end_all if ended_by == "clock" else lambda: keys.on_news(kept[1:])
    if ended_by == "clock":
        assert keys.get(kept[0]).soft < clock(), "good for the call at hand"
    else:
        with pytest.raises(KeyDestroyedError):
            keys.get(kept[0])
    assert leased.until < clock()


def test_a_refused_key_is_not_asked_for_again_for_five_seconds_and_others_are(
    keys: UnwrappedKeys, kept: list[KeyRecord], provider: ScriptedProvider, clock: ManualClock
) -> None:
    provider.refuse[kept[0].context] = CannotUnwrapError("changed")
    for _ in range(3):
        with pytest.raises(CannotUnwrapError, match="changed"):
            keys.get(kept[0])
    assert provider.batches == [1]
    assert set(keys.open_all(kept)) == {kept[0].key_id}
    assert provider.batches == [1, 2]
    clock.advance(5)
    provider.refuse.clear()
    assert keys.get(kept[0]).key.key_id == kept[0].key_id


def test_a_refusal_ends_with_the_bytes_that_were_refused(
    keys: UnwrappedKeys, kept: list[KeyRecord], provider: ScriptedProvider
) -> None:
    assert kept[0].wrapped is not None
    damaged = replace(kept[0], wrapped=replace(kept[0].wrapped, ciphertext=bytes(60)))
    keys.on_news([damaged])
    for _ in range(2):
        with pytest.raises(CannotUnwrapError):
            keys.get(damaged)
    assert provider.batches == [1]
    keys.on_news(kept)
    assert keys.get(kept[0]).key.key_id == kept[0].key_id


def test_no_error_that_is_kept_or_raised_holds_the_frames_in_which_keys_were_opened(
    keys: UnwrappedKeys, kept: list[KeyRecord], provider: ScriptedProvider
) -> None:
    provider.refuse[kept[2].context] = CannotUnwrapError("changed")
    (failure,) = keys.open_all(kept).values()
    assert failure.__traceback__ is None
    with pytest.raises(CannotUnwrapError) as caught:
        keys.get(kept[2])
    frames = [frame.name for frame in caught.traceback]
    assert not {"all_or_each_alone", "unwrap"} & set(frames)
