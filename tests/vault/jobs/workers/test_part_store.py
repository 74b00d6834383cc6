"""A worker hears what the run hears whose part it does, and ends when that is over."""

import pytest
from sqlalchemy import create_engine

from tests.kms.manual_clock import ManualClock
from vault.errors import JobRunningError
from vault.jobs.job_store import JobName, JobState, JobStore, JobWish, Taken
from vault.jobs.workers.part_store import PartStore

NAME, PART = JobName("reencrypt", "visit"), JobName("reencrypt", "visit", "p")


@pytest.fixture
def store(database_url: str) -> JobStore:
    store = JobStore(create_engine(database_url))
    store.create()
    return store


def begun(store: JobStore, clock: ManualClock) -> tuple[Taken, PartStore, Taken]:
    run = store.take(NAME, "goal", 10, 0.1)
    parts = PartStore(store.engine, NAME, run.run, silence=60, clock=clock)
    return run, parts, parts.take(PART, "m", 5, 0.0, "m")


def test_what_is_wished_of_the_run_is_wished_of_its_parts(store: JobStore) -> None:
    _, parts, part = begun(store, ManualClock())
    assert parts.beat(part) is JobWish.RUN
    for wish in (JobWish.PAUSE, JobWish.RUN, JobWish.STOP):
        store.wish(NAME, wish)
        assert parts.beat(part) is wish


def test_a_run_that_ended_or_is_silent_stops_its_parts(store: JobStore) -> None:
    clock = ManualClock()
    run, parts, part = begun(store, clock)
    assert parts.beat(part) is JobWish.RUN
    clock.now += 59
    assert parts.beat(part) is JobWish.RUN
    clock.now += 2
    assert parts.beat(part) is JobWish.STOP
    store.beat(run)
    assert parts.beat(part) is JobWish.RUN, "it lives"
    store.tell(run, JobState.STOPPED)
    assert parts.beat(part) is JobWish.STOP


def test_a_part_of_a_run_that_was_taken_over_is_nobody_s(store: JobStore) -> None:
    _, parts, part = begun(store, ManualClock())
    store.take(NAME, "goal", 10, 0.1)
    with pytest.raises(JobRunningError):
        parts.beat(part)


def test_a_part_that_another_has_is_not_ours(store: JobStore) -> None:
    _, parts, part = begun(store, ManualClock())
    parts.take(PART, "m", 5, 0.0, "m")
    with pytest.raises(JobRunningError):
        parts.beat(part)
