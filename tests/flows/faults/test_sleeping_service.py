"""A service falls asleep with an open transaction over some rows: the run says which are left, and completes later."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest
from sqlalchemy import update

from tests.flows.faults.runs import run_to_the_end
from tests.flows.faults.visits import (
    PROCESSES,
    Place,
    as_first,
    first_state,
    key_ids,
    make_visits,
    require_whole,
    rotate,
)
from tests.servers.databases import SERVERS

ROWS = 200
HELD = (7, 150, 3)


def _hold(place: Place, holding: Path) -> None:
    """In the other process: a transaction over three rows, in which it falls asleep."""
    with place.opened() as (engine, table, _vault), engine.begin() as connection:
        for person in HELD:
            row = update(table).where(table.c.person == person, table.c.year == 1)
            connection.execute(row.values(diagnosis="late"))
        holding.touch()
        os.kill(os.getpid(), signal.SIGSTOP)


@contextmanager
def asleep(place: Place) -> Iterator[ForkServerProcess]:
    holding = place.folder / "holding"
    process = PROCESSES.Process(target=_hold, args=(replace(place, refresh=False), holding), daemon=True)
    process.start()
    try:
        end = time.monotonic() + 60
        while not holding.exists():
            assert time.monotonic() < end
            assert process.is_alive()
            time.sleep(0.01)
        yield process
    finally:
        process.kill()
        process.join()


def woken(process: ForkServerProcess) -> None:
    end = time.monotonic() + 60
    while process.is_alive() and time.monotonic() < end:
        os.kill(process.pid or 0, signal.SIGCONT)  # it may not have been asleep yet
        process.join(0.1)
    assert process.exitcode == 0


@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
def test_the_run_says_which_rows_are_locked_and_completes_later(tmp_path: Path, database_url: str) -> None:
    project, place = make_visits(tmp_path, database_url, ROWS), Place(tmp_path)
    allowed = dict(as_first(ROWS)) | {person: [(first_state(person)[0], "late")] for person in HELD}
    with asleep(place) as service:
        key_id = rotate(project)
        status, told = run_to_the_end(place, 20, lock_seconds=0.2, passes=3)
        assert status == 3, told.told("refused")
        (ended,) = told.told("ended")
        assert (ended["outcome"], ended["remaining"], ended["rewritten"]) == ("incomplete", 3, ROWS - 3)
        left = told.told("row-left")
        assert {one["key"] for one in left} == {f"[{person}, 1]" for person in HELD}
        assert {one["reason"] for one in left} == {"locked by somebody else"}
        assert len(left) == 3, "once, when the run ends"
        assert len(key_ids(project)) == 2
        woken(service)
    status, told = run_to_the_end(place)
    assert status == 0, told.told("proved")
    assert told.told("ended")[-1]["rewritten"] <= 3, "the service may have sealed by the new key"
    require_whole(project, allowed, key_id)
    project.close()


def test_on_sqlite_where_it_holds_all_the_run_waits_says_so_and_completes_later(tmp_path: Path) -> None:
    project = make_visits(tmp_path, f"sqlite:///{tmp_path / 'application.db'}?timeout=0.1", ROWS)
    place = Place(tmp_path)
    with asleep(place) as service:
        key_id = rotate(project)
        status, told = run_to_the_end(place, 20, patience=1.0)
        assert status == 1
        assert "is held by somebody else" in told.message
        assert "go on by the same command" in told.message
        assert told.told("waiting")
        woken(service)
    status, told = run_to_the_end(place)
    assert status == 0, told.told("refused")
    require_whole(project, dict(as_first(ROWS)) | {p: [(first_state(p)[0], "late")] for p in HELD}, key_id)
    project.close()
