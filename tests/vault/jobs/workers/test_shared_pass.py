"""Passes that are shared: every row once, a lost worker's part done again, one answer to who does what."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from sqlalchemy import Engine, insert, select, update

from kms import Purpose
from tests.vault.jobs.workers.crew_project import ROWS, SETTINGS, job_of, key_ids, project_of
from vault.errors import JobError, JobRunningError
from vault.jobs.events import Advanced, Event, Held, RowFailed, WorkerLost
from vault.jobs.job_store import JobName, JobState, JobStore, JobWish
from vault.jobs.job_tables import job_table_of_jobs, part_table
from vault.jobs.pace import PaceSettings
from vault.jobs.workers.process_pool import ProcessPool
from vault.jobs.workers.workers import WorkersOf
from vault.project import Project
from vault.rows.raw_table import raw_table

pytestmark = pytest.mark.postgres
NAME = JobName("reencrypt", "visit")
# Some seconds for the whole, so that something can happen meanwhile.
SLOW = replace(SETTINGS, pace=PaceSettings(most_rows=20, rows_per_second=ROWS // 5))


@pytest.fixture
def project(tmp_path: Path, postgres_url: str) -> Iterator[Project]:
    made = project_of(tmp_path, postgres_url)
    yield made
    made.close()


def seen(engine: Engine) -> int:
    """Rows that the job has come to, all its parts together."""
    return sum(row["seen"] for row in JobStore(engine).all())


def rests(engine: Engine) -> bool:
    """Whether for several times as long as a batch takes nobody comes to a row."""
    before = seen(engine)
    time.sleep(1.5)
    return seen(engine) == before


def is_at_work(engine: Engine) -> bool:
    (row,) = JobStore(engine).all()
    return row["state"] == "running" and row["seen"] > 0


def until(true: Callable[[], object], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never is"
        time.sleep(0.02)


def others() -> list[psutil.Process]:
    """The workers of this process's pools."""
    found = []
    for one in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):  # or one that has ended and was not asked for yet
            if "spawn_main" in " ".join(one.cmdline()):
                found.append(one)
    return found


def test_processes_of_a_pool_do_each_row_once(project: Project, tmp_path: Path) -> None:
    events: list[Event] = []
    with ProcessPool(2) as pool:
        tally = job_of(project, tmp_path, pool, notify=events.append).run()
        assert len(others()) == 2
    assert not others()
    assert (tally.outcome, tally.rewritten, tally.remaining) == (JobState.COMPLETE, ROWS, 0)
    assert key_ids(project) == {project.active_data_key_id}
    assert [event.seen for event in events if isinstance(event, Advanced)][-1] == ROWS
    (row,) = JobStore(project.engine).all()
    assert (row["part"], row["state"], row["seen"], row["rewritten"]) == ("whole", "complete", ROWS, ROWS)
    with project.engine.connect() as connection:
        assert connection.execute(select(part_table)).all() == []


def test_a_killed_worker_s_part_goes_on_from_its_checkpoint(project: Project, tmp_path: Path) -> None:
    events: list[Event] = []

    def kill() -> None:
        until(lambda: seen(project.engine) > 100)
        others()[0].kill()

    with ThreadPoolExecutor(1) as threads, ProcessPool(2) as pool:
        killed = threads.submit(kill)
        tally = job_of(project, tmp_path, pool, SLOW, notify=events.append).run()
        killed.result()
    assert (tally.outcome, tally.rewritten, tally.remaining) == (JobState.COMPLETE, ROWS, 0)
    assert any(isinstance(event, WorkerLost) for event in events)
    assert key_ids(project) == {project.active_data_key_id}


def test_a_worker_that_is_asked_to_end_finishes_its_batch(project: Project, tmp_path: Path) -> None:
    def end() -> None:
        until(lambda: seen(project.engine) > 100)
        others()[0].terminate()

    with ThreadPoolExecutor(1) as threads, ProcessPool(2) as pool:
        ended = threads.submit(end)
        tally = job_of(project, tmp_path, pool, SLOW).run()
        ended.result()
    assert (tally.outcome, tally.rewritten) == (JobState.COMPLETE, ROWS)


def test_a_part_whose_workers_die_again_and_again_ends_the_run(project: Project, tmp_path: Path) -> None:
    class Dies(ThreadPoolExecutor):
        def submit(self, *_: object) -> None:  # type: ignore[override]
            raise dead

    from concurrent.futures import BrokenExecutor

    dead = BrokenExecutor("gone")
    with Dies(1) as executor, pytest.raises(JobError, match="was lost 5 times"):
        job_of(project, tmp_path, WorkersOf(executor, 2)).run()
    (row,) = JobStore(project.engine).all()
    assert row["state"] == "stopped"


def test_the_stop_of_the_run_reaches_all_workers_and_the_next_run_goes_on(project: Project, tmp_path: Path) -> None:
    stop = threading.Event()
    with ThreadPoolExecutor(3) as threads:
        pool = WorkersOf(threads, 2)
        run = threads.submit(job_of(project, tmp_path, pool, SLOW, stop=stop).run)
        until(lambda: seen(project.engine) > 100)
        stop.set()
        first = run.result()
        assert first.outcome is JobState.STOPPED
        (row,) = JobStore(project.engine).all()
        assert (row["state"], row["seen"]) == ("stopped", first.rewritten)
        begun: list[Event] = []
        second = job_of(project, tmp_path, pool, notify=begun.append).run()
    assert second.outcome is JobState.COMPLETE
    assert first.rewritten + second.rewritten == ROWS, "each row was rewritten once"
    assert begun[0].seen == first.rewritten  # type: ignore[union-attr]
    assert begun[0].resumed  # type: ignore[union-attr]


def test_an_operator_holds_and_stops_all_workers_by_the_job_s_name(project: Project, tmp_path: Path) -> None:
    store, events = JobStore(project.engine), list[Event]()
    with ThreadPoolExecutor(3) as threads:
        pool = WorkersOf(threads, 2)
        run = threads.submit(job_of(project, tmp_path, pool, SLOW, notify=events.append).run)
        until(lambda: seen(project.engine) > 100)
        store.wish(NAME, JobWish.PAUSE)
        try:
            until(lambda: any(isinstance(event, Held) for event in events))
            until(lambda: rests(project.engine))  # each worker hears of it by itself
            held = seen(project.engine)
            assert held < ROWS
            store.wish(NAME, JobWish.RUN)
            until(lambda: seen(project.engine) > held)
        finally:
            store.wish(NAME, JobWish.STOP)
        assert run.result().outcome is JobState.STOPPED


def test_two_runs_of_one_job_are_refused_however_they_are_done(project: Project, tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as threads:
        pool = WorkersOf(threads, 2)
        run = threads.submit(job_of(project, tmp_path, pool, SLOW).run)
        until(lambda: seen(project.engine) > 50)
        with pytest.raises(JobRunningError):
            job_of(project, tmp_path, pool).run()
        with pytest.raises(JobRunningError):
            replace(job_of(project, tmp_path, pool), shared=None).run()
        assert run.result().outcome is JobState.COMPLETE


def test_a_run_alone_goes_on_where_a_shared_one_stopped_and_the_other_way_round(
    project: Project, tmp_path: Path
) -> None:
    stop = threading.Event()
    with ThreadPoolExecutor(2) as threads:
        workers = WorkersOf(threads, 1)
        run = threads.submit(job_of(project, tmp_path, workers, SLOW, stop=stop).run)
        until(lambda: seen(project.engine) > 50)
        stop.set()
        first = run.result().rewritten
        alone = replace(job_of(project, tmp_path, workers, SLOW), shared=None)
        threads.submit(
            lambda: (until(lambda: is_at_work(project.engine)), JobStore(project.engine).wish(NAME, JobWish.STOP))
        )
        second = alone.run()
        assert second.outcome is JobState.STOPPED
        with project.engine.connect() as connection:
            assert connection.execute(select(part_table)).all() == []
            assert len(connection.execute(select(job_table_of_jobs)).all()) == 1
        third = job_of(project, tmp_path, workers).run()
    assert third.outcome is JobState.COMPLETE
    assert first + second.rewritten + third.rewritten == ROWS


def test_rows_that_cannot_be_done_are_told_and_let_go_of_when_they_can(project: Project, tmp_path: Path) -> None:
    raw = raw_table(project.tables["visit"])
    with project.engine.begin() as connection:
        good = connection.scalar(select(raw.c.diagnosis).where(raw.c.person == 7))
        connection.execute(update(raw).where(raw.c.person == 7).values(diagnosis=bytes([*good[:-1], good[-1] ^ 1])))
    events: list[Event] = []
    with ThreadPoolExecutor(2) as threads:
        workers = WorkersOf(threads, 2)
        tally = job_of(project, tmp_path, workers, notify=events.append).run()
        assert (tally.outcome, tally.failed, tally.rewritten) == (JobState.INCOMPLETE, 1, ROWS - 1)
        assert [event.key for event in events if isinstance(event, RowFailed)] == ["[7, 1]"]
        with project.engine.begin() as connection:
            connection.execute(update(raw).where(raw.c.person == 7).values(diagnosis=good))
        assert job_of(project, tmp_path, workers).run().outcome is JobState.COMPLETE
    from vault.jobs.quarantine import listed

    with project.engine.connect() as connection:
        assert listed(connection) == []


def test_a_rotation_meanwhile_is_followed(project: Project, tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as threads:
        run = threads.submit(job_of(project, tmp_path, WorkersOf(threads, 2), SLOW).run)
        until(lambda: seen(project.engine) > 50)
        project.opened.keyring.lifecycle.rotate(Purpose.DATA)
        tally = run.result()
    assert tally.outcome is JobState.COMPLETE
    assert key_ids(project) == {project.active_data_key_id}


def test_rows_that_come_before_the_first_key_and_after_the_last_are_met(project: Project, tmp_path: Path) -> None:
    """By a service that has not heard of the rotation: the value is copied from a row of before."""
    raw = raw_table(project.tables["visit"])
    other = project_columns(project)
    with ThreadPoolExecutor(3) as threads:
        run = threads.submit(job_of(project, tmp_path, WorkersOf(threads, 2), SLOW).run)
        until(lambda: seen(project.engine) > 50)
        with project.engine.begin() as connection:
            connection.execute(insert(raw), [other | {"person": -5}, other | {"person": 10_000}])
        tally = run.result()
    assert tally.failed == 2, "they were met: bound to another row, they do not open"


def project_columns(project: Project) -> dict[str, object]:
    raw = raw_table(project.tables["visit"])
    with project.engine.connect() as connection:
        return dict(connection.execute(select(raw).where(raw.c.person == 3)).mappings().one())


def test_the_rate_is_of_all_workers_together(project: Project, tmp_path: Path) -> None:
    """Not measured, but asked of what each is told."""
    told: list[float | None] = []

    class Notes(ThreadPoolExecutor):
        def submit(self, run: object, task: object) -> object:  # type: ignore[override]
            told.append(task.settings.pace.rows_per_second)  # type: ignore[attr-defined]
            return super().submit(run, task)  # type: ignore[arg-type]

    settings = replace(SETTINGS, pace=PaceSettings(rows_per_second=90_000))
    with Notes(3) as threads:
        job_of(project, tmp_path, WorkersOf(threads, 3), settings).run()
    assert set(told) == {30_000}


def test_workers_whose_run_was_killed_end_by_themselves(tmp_path: Path, postgres_url: str) -> None:
    """The run is a process of its own, with a pool, and dies by kill -9."""
    import subprocess
    import sys

    project = project_of(tmp_path, postgres_url)
    run = subprocess.Popen([sys.executable, "-m", "tests.vault.jobs.workers.run_slowly", str(tmp_path)])
    until(lambda: seen(project.engine) > 100)
    workers = [one for one in psutil.Process(run.pid).children() if "spawn_main" in " ".join(one.cmdline())]
    assert len(workers) == 2
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    _, alive = psutil.wait_procs(workers, timeout=20)
    assert not alive
    before = seen(project.engine)
    with ThreadPoolExecutor(2) as threads:
        tally = job_of(project, tmp_path, WorkersOf(threads, 2)).run()
    assert tally.outcome is JobState.COMPLETE
    assert tally.rewritten == ROWS - before, "the parts went on from their checkpoints"
    with suppress(psutil.NoSuchProcess):
        [one.kill() for one in workers]
    project.close()
