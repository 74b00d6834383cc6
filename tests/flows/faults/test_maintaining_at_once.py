"""maintain on several machines, killed, and in a window: one works, nothing is done twice, nothing is left locked."""

import contextlib
import io
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from kms import Purpose
from tests.flows.faults.visits import PROCESSES
from tests.kms.rested import let_rest
from tests.sizes import sized
from tests.vault.cli.maintained import filled_project
from vault.budgets import declare_budgets
from vault.cli import main, maintaining
from vault.cli.maintenance_context import MaintenanceContext
from vault.jobs.engine import JobSettings
from vault.jobs.job_store import JobName, JobStore, JobWish
from vault.jobs.pace import PaceSettings
from vault.opened_ledger import open_ledger
from vault.project import Project
from vault.rows.raw_table import raw_table

ROWS = sized(300, 1500)
SLOW = ROWS / 20
LONGEST = 120


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'application.db'}"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def project(tmp_path: Path, place: str) -> Iterator[Project]:
    """All rows are under an older key, by which nobody seals any more."""
    project = filled_project(tmp_path, ROWS, place)
    project.opened.keyring.lifecycle.rotate(Purpose.DATA)
    let_rest(project.opened.key_store.engine)
    with contextlib.closing(open_ledger(project.policy, project.opened.keyring)) as ledger:
        declare_budgets(ledger, project.policy)
    yield project
    project.close()


def _maintain(folder: Path, words: list[str], rate: float | None, gate: Any, said: Any) -> None:
    """In the other process: the command, so slow that the others meet it."""
    os.chdir(folder)
    settings = JobSettings(PaceSettings(rows_per_second=rate))
    maintaining.MaintenanceContext = partial(MaintenanceContext, settings=settings)  # type: ignore[misc,assignment]
    out = io.StringIO()
    gate.wait(LONGEST)
    status: object = 0
    with contextlib.redirect_stdout(out):
        try:
            main(["maintain", *words])
        except SystemExit as end:
            status = end.code
    said.put((status, out.getvalue()))


@contextmanager
def maintaining_processes(folder: Path, number: int, *words: str, rate: float | None = None) -> Iterator[Any]:
    """Begun together. Gives the processes, and where each puts its status and what it said."""
    gate, said = PROCESSES.Barrier(number), PROCESSES.Queue()
    processes: list[BaseProcess] = [
        PROCESSES.Process(target=_maintain, args=(folder, list(words), rate, gate, said), daemon=True)
        for _ in range(number)
    ]
    for one in processes:
        one.start()
    try:
        yield processes, said
    finally:
        for one in processes:
            one.kill()
            one.join()


def moved(project: Project) -> dict[int, bytes]:
    """What is under the active key."""
    active = project.opened.keyring.records(Purpose.DATA)[-1].key_id
    raw = raw_table(project.table("visit"))
    with project.engine.connect() as connection:
        found = connection.execute(select(raw.c.person, raw.c.diagnosis)).all()
    return {person: bytes(value) for person, value in found if bytes(value)[2:6] == active}


def until_some_are_moved(project: Project, process: BaseProcess) -> None:
    end = time.monotonic() + LONGEST
    while not moved(project):
        assert time.monotonic() < end
        assert process.is_alive()
        time.sleep(0.2)


def jobs(project: Project) -> dict[str, str]:
    return {row["job"]: row["state"] for row in JobStore(project.engine).all()}


def test_of_two_that_begin_together_one_works_and_the_other_leaves_with_0(project: Project, tmp_path: Path) -> None:
    with maintaining_processes(tmp_path, 2, rate=ROWS / 6) as (_, said):
        first, second = said.get(timeout=LONGEST), said.get(timeout=LONGEST)
    assert first == (0, "another process maintains this database now; it was left to it\n")
    assert second[0] == 0
    assert f"reencrypt visit: done: visit: {ROWS} rows rewritten" in second[1]
    assert len(moved(project)) == ROWS


def test_killed_in_the_middle_the_next_run_takes_the_turn_and_goes_on(project: Project, tmp_path: Path) -> None:
    """kill -9: what was committed stays, no row is moved twice, and no lock is left."""
    with maintaining_processes(tmp_path, 1, rate=SLOW) as ((process,), _):
        until_some_are_moved(project, process)
        process.kill()
        process.join()
    before = moved(project)
    assert 0 < len(before) < ROWS
    assert jobs(project)["maintain"] == "running", "as the killed run left it"
    with maintaining_processes(tmp_path, 1) as (_, said):
        status, out = said.get(timeout=LONGEST)
    assert (status, "reencrypt visit: done" in out) == (0, True)
    after = moved(project)
    assert len(after) == ROWS
    assert {person: after[person] for person in before} == before
    assert jobs(project) == {"maintain": "complete", "reencrypt": "complete"}


def test_an_operator_stops_it_from_elsewhere_and_what_it_runs(project: Project, tmp_path: Path) -> None:
    store = JobStore(project.engine)
    with maintaining_processes(tmp_path, 1, rate=SLOW) as ((process,), said):
        until_some_are_moved(project, process)
        (row,) = (row for row in store.all() if row["job"] == "maintain")
        store.wish(JobName(row["job"], row["table_name"], row["part"]), JobWish.STOP)
        status, out = said.get(timeout=LONGEST)
    assert status == 4
    assert "reencrypt visit: stopped" in out
    assert "verify visit" not in out
    assert 0 < len(moved(project)) < ROWS


def test_at_the_end_of_its_window_it_stops_after_its_batch_and_the_next_run_goes_on(
    project: Project, tmp_path: Path
) -> None:
    """A table that is longer than any window is begun all the same, or it would never be done."""
    with maintaining_processes(tmp_path, 1, "--for", "10s", rate=SLOW) as (_, said):
        status, out = said.get(timeout=LONGEST)
    assert status == 4
    assert "verify visit" not in out, "nothing more is begun"
    before = moved(project)
    assert len(before) < ROWS
    with maintaining_processes(tmp_path, 1) as (_, said):
        status, out = said.get(timeout=LONGEST)
    assert (status, "reencrypt visit: done" in out) == (0, True)
    after = moved(project)
    assert len(after) == ROWS
    assert {person: after[person] for person in before} == before
