import threading
import time
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from vault.errors import JobRunningError
from vault.jobs.heart import Heart
from vault.jobs.job_store import JobName, JobStore, JobWish, Taken

NAME = JobName("reencrypt", "visit")


@pytest.fixture
def store(tmp_path: Path) -> JobStore:
    store = JobStore(create_engine(f"sqlite:///{tmp_path / 'x.db'}"))
    store.create()
    return store


def until(true: object) -> None:
    end = time.monotonic() + 10
    while not true():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.01)


def beats(store: JobStore) -> int:
    return int(store.all()[0]["beat"])


def beating(store: JobStore, stop: threading.Event | None = None) -> tuple[Heart, Taken]:
    taken = store.take(NAME, "goal", 1, silence=0)
    return Heart(store, taken, 0.01, stop or threading.Event()), taken


def test_it_beats_hears_wishes_and_ends(store: JobStore) -> None:
    heart, _ = beating(store)
    with heart:
        before = beats(store)
        until(lambda: beats(store) > before + 2)
        assert not heart.is_paused()
        store.wish(NAME, JobWish.PAUSE)
        until(heart.is_paused)
        store.wish(NAME, JobWish.STOP)
        until(heart.is_stopping)
        assert not heart.is_paused()
    after = beats(store)
    time.sleep(0.05)
    assert beats(store) == after


def test_a_run_whose_job_was_taken_over_is_told(store: JobStore) -> None:
    heart, _ = beating(store)
    with heart:
        with store.engine.begin() as connection:
            connection.execute(text("UPDATE noisevault_job SET run = 'another'"))
        with pytest.raises(JobRunningError):
            until(heart.is_stopping)


def test_it_stops_with_this_process_too_and_rests_no_longer(store: JobStore) -> None:
    stop = threading.Event()
    heart, _ = beating(store, stop)
    assert not heart.is_stopping()
    stop.set()
    began = time.monotonic()
    heart.rest(30)
    assert heart.is_stopping()
    assert time.monotonic() - began < 5


def test_a_database_that_does_not_answer_is_left_to_the_run(store: JobStore) -> None:
    heart, _ = beating(store)
    with heart:
        with store.engine.begin() as connection:
            connection.execute(text("ALTER TABLE noisevault_job RENAME TO elsewhere"))
        time.sleep(0.05)
        assert not heart.is_stopping()
        with store.engine.begin() as connection:
            connection.execute(text("ALTER TABLE elsewhere RENAME TO noisevault_job"))
        before = beats(store)
        until(lambda: beats(store) > before)


def test_a_database_in_memory_is_nobody_else_s() -> None:
    store = JobStore(create_engine("sqlite://"))
    store.create()
    heart, _ = beating(store)
    with heart:
        time.sleep(0.05)
    assert beats(store) == 0
