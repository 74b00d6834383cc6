"""How far a verification is, and what it found, is kept or not."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine

from tests.kms.manual_clock import ManualClock
from vault.jobs.job_store import JobName, JobState, JobStore
from vault.jobs.outage import Outage
from vault.jobs.quarantine import listed
from vault.jobs.verifying.finding import Finding, FindingKind
from vault.jobs.verifying.verify_record import Kept, NotKept

pytestmark = pytest.mark.databases_in_turn

NAME = JobName("verify", "visit")


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = create_engine(database_url)
    yield engine
    engine.dispose()


def kept(engine: Engine, clock: ManualClock) -> Kept:
    store = JobStore(engine)
    store.create()
    return Kept(store, store.take(NAME, "goal", 100, 0.1), Outage(0), lock_seconds=1, clock=clock)


def wrong(key: int) -> Finding:
    return Finding((key,), "name", FindingKind.NOT_SEALED, "text")


def in_quarantine(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return [row["row_key"] for row in listed(connection)]


def test_progress_is_written_once_a_second_and_findings_at_once(engine: Engine) -> None:
    clock = ManualClock()
    record = kept(engine, clock)

    def seen() -> tuple[int, int, str | None]:
        (row,) = JobStore(engine).all()
        return row["seen"], row["failed"], row["done_up_to"]

    record.advance((10,), 10, [], at_once=False)
    assert seen() == (0, 0, None)
    record.advance((20,), 10, [wrong(13), wrong(13), wrong(14)], at_once=False)
    assert seen() == (20, 2, "[20]")
    record.advance((30,), 10, [], at_once=False)
    assert seen() == (20, 2, "[20]")
    clock.now += 1.5
    record.advance((40,), 10, [], at_once=False)
    assert seen() == (40, 2, "[40]")
    record.advance((45,), 5, [], at_once=True)
    assert seen() == (45, 2, "[45]")
    record.advance((47,), 2, [], at_once=False)
    record.end(JobState.STOPPED, saw_all=False)
    again = kept(engine, clock).taken
    assert (again.done_up_to, again.seen, again.failed, again.mark) == ((47,), 47, 2, record.taken.mark)


def test_the_end_of_a_run_that_saw_all_takes_out_what_it_did_not_find(engine: Engine) -> None:
    clock = ManualClock()
    first = kept(engine, clock)
    first.advance((20,), 20, [wrong(1), wrong(2)], at_once=True)
    first.end(JobState.INCOMPLETE, saw_all=True)
    assert in_quarantine(engine) == ["[1]", "[2]"]
    second = kept(engine, clock)
    second.advance((20,), 20, [wrong(2)], at_once=True)
    second.end(JobState.STOPPED, saw_all=False)
    assert in_quarantine(engine) == ["[1]", "[2]"]
    third = kept(engine, clock)
    third.end(JobState.INCOMPLETE, saw_all=True)
    assert in_quarantine(engine) == ["[2]"], "found by the run that the third one went on with"


def test_the_run_is_seen_to_live(engine: Engine) -> None:
    with kept(engine, ManualClock()).alive(0.1, threading.Event()) as heart:
        assert not heart.is_stopping()


def test_what_is_not_kept_leaves_nothing(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'application.db'}")
    record = NotKept(NAME)
    record.advance((20,), 20, [wrong(1)], at_once=True)
    with record.alive(0.1, threading.Event()) as heart:
        assert heart is None
    record.end(JobState.INCOMPLETE, saw_all=True)
    assert not record.taken.resumed
    assert JobStore(engine).all() == []
    engine.dispose()
