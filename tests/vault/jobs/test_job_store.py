import itertools
from dataclasses import replace

import pytest
from sqlalchemy import Engine, create_engine, text

from vault.errors import JobError, JobRunningError
from vault.jobs.job_store import JobName, JobState, JobStore, JobWish, Taken
from vault.jobs.walking.key_range import WHOLE, KeyRange

NAME = JobName("reencrypt", "visit")


@pytest.fixture
def engine(database_url: str) -> Engine:
    return create_engine(database_url)


@pytest.fixture
def store(engine: Engine) -> JobStore:
    store = quick(engine)
    store.create()
    return store


def quick(engine: Engine) -> JobStore:
    """Whose seconds are none: each look at the clock is one later."""
    return JobStore(engine, sleep=lambda _seconds: None, clock=itertools.count().__next__)


def advance(store: JobStore, taken: Taken, key: tuple[object, ...], **counts: int) -> None:
    with store.engine.begin() as connection:
        store.advance(connection, taken, key, **counts)


def test_a_run_that_died_is_taken_over_where_it_was(store: JobStore) -> None:
    first = store.take(NAME, "goal", 100, silence=5)
    assert not first.resumed
    advance(store, first, (40, "x"), seen=40, rewritten=39, missed=1)
    second = store.take(NAME, "goal", 100, silence=5)
    assert second.resumed
    assert (second.number, second.done_up_to, second.seen, second.missed) == (1, (40, "x"), 40, 1)
    assert second.mark == first.mark, "what the pass has put into quarantine is the pass's still"
    with pytest.raises(JobRunningError):
        advance(store, first, (50, "x"), seen=10)
    advance(store, second, (50, "x"), seen=10)


def test_a_checkpoint_on_the_way_to_another_goal_is_not_used(store: JobStore) -> None:
    advance(store, store.take(NAME, "goal", 100, silence=5), (40,), seen=40)
    again = store.take(NAME, "other goal", 100, silence=5)
    assert (again.resumed, again.seen) == (False, 0)
    (row,) = store.all()
    assert (row["goal"], row["seen"], row["done_up_to"]) == ("other goal", 0, None)


@pytest.mark.parametrize("ended", [JobState.COMPLETE, JobState.INCOMPLETE])
def test_a_job_that_ended_begins_anew_and_a_stopped_one_goes_on(store: JobStore, ended: JobState) -> None:
    taken = store.take(NAME, "goal", 100, silence=5)
    advance(store, taken, (40,), seen=40)
    store.tell(taken, JobState.STOPPED)
    taken = store.take(NAME, "goal", 100, silence=5)
    assert taken.done_up_to == (40,)
    store.tell(taken, ended)
    assert not store.take(NAME, "goal", 100, silence=5).resumed


def test_a_second_run_of_a_living_job_leaves_it(store: JobStore, engine: Engine) -> None:
    taken = store.take(NAME, "goal", 100, silence=5)
    second = JobStore(engine, sleep=lambda _seconds: store.beat(taken), clock=itertools.count().__next__)
    with pytest.raises(JobRunningError, match="noisevault jobs stop visit"):
        second.take(NAME, "goal", 100, silence=1000)
    assert store.beat(taken) is JobWish.RUN


def test_a_run_that_ends_while_it_is_watched_is_followed_at_once(store: JobStore, engine: Engine) -> None:
    taken = store.take(NAME, "goal", 100, silence=5)
    second = JobStore(
        engine, sleep=lambda _seconds: store.tell(taken, JobState.COMPLETE), clock=itertools.count().__next__
    )
    assert not second.take(NAME, "goal", 100, silence=1000).resumed


def test_a_wish_is_heard_with_the_next_beat_and_is_not_left_for_the_next_run(store: JobStore) -> None:
    taken = store.take(NAME, "goal", 100, silence=5)
    store.wish(NAME, JobWish.PAUSE)
    assert store.beat(taken) is JobWish.PAUSE
    store.wish(NAME, JobWish.STOP)
    assert store.beat(taken) is JobWish.STOP
    store.tell(taken, JobState.STOPPED)
    with pytest.raises(JobError, match="nobody runs reencrypt of visit"):
        store.wish(NAME, JobWish.PAUSE)
    assert store.beat(store.take(NAME, "goal", 100, silence=5)) is JobWish.RUN


def test_the_next_pass_begins_with_nothing_counted(store: JobStore) -> None:
    taken = store.take(NAME, "goal", 100, silence=5)
    advance(store, taken, (99,), seen=100, missed=3, failed=2, rewritten=95)
    store.begin_pass(replace(taken, number=2, mark="two"), "new goal", 101)
    (row,) = store.all()
    shown = {name: row[name] for name in ("number", "mark", "goal", "total", "seen", "missed", "failed", "rewritten")}
    assert shown == {
        "number": 2,
        "mark": "two",
        "goal": "new goal",
        "total": 101,
        "seen": 0,
        "missed": 0,
        "failed": 0,
        "rewritten": 95,
    }
    again = store.take(NAME, "new goal", 101, silence=5)
    assert (again.number, again.done_up_to) == (2, None)


def test_what_was_changed_by_hand_or_has_no_text_is_begun_anew(store: JobStore) -> None:
    advance(store, store.take(NAME, "goal", 100, silence=5), (1j,), seen=40)
    assert not store.take(NAME, "goal", 100, silence=5).resumed
    for nonsense in ("nonsense", "5", "{}", "[]", '{"a": 1}', '[{"a": 1}]', '[{"uuid": "x"}]'):
        with store.engine.begin() as connection:
            changed = text("UPDATE noisevault_job SET done_up_to = :done, state = 'what', wish = 'nothing'")
            connection.execute(changed, {"done": nonsense})
        taken = store.take(NAME, "goal", 100, silence=5)
        assert not taken.resumed, nonsense
        assert store.beat(taken) is JobWish.RUN
    with store.engine.begin() as connection:
        connection.execute(text("UPDATE noisevault_job SET wish = 'nothing'"))
    assert store.beat(taken) is JobWish.RUN


def test_parts_of_a_table_are_jobs_of_their_own(store: JobStore) -> None:
    ranges = [WHOLE, KeyRange((5,)), KeyRange(None, (5,)), KeyRange((1,), (5,))]
    names = [JobName.of("reencrypt", "visit", part) for part in ranges]
    assert len(set(names)) == 4
    assert names[0] == NAME
    for name in names:
        store.take(name, "goal", 10, silence=5)
    assert len(store.all()) == 4


def test_without_the_tables_there_are_no_jobs(engine: Engine) -> None:
    assert JobStore(engine).all() == []
    with pytest.raises(JobError):
        JobStore(engine).wish(NAME, JobWish.STOP)


def test_what_only_the_owner_of_a_job_may_do_another_is_refused(store: JobStore) -> None:
    first = store.take(NAME, "goal", 100, silence=5)
    with store.engine.begin() as connection:
        store.require(connection, first)
    store.tell(first, JobState.STOPPED)
    store.take(NAME, "goal", 100, silence=5)
    with store.engine.begin() as connection, pytest.raises(JobRunningError):
        store.require(connection, first)
