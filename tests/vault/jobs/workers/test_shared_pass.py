"""Passes that are shared: every row once, a lost worker's part done again, one answer to who does what."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.vault.jobs.workers.crew_project import job_of, key_ids, project_of
from vault.jobs.events import Advanced, Event
from vault.jobs.job_store import JobState, JobStore
from vault.jobs.workers.process_pool import ProcessPool
from vault.jobs.workers.workers import WorkersOf

pytestmark = pytest.mark.postgres


def test_processes_of_a_pool_do_each_row_once(tmp_path: Path, postgres_url: str) -> None:
    project, events = project_of(tmp_path, postgres_url), list[Event]()
    began = time.time()
    with ProcessPool(2) as pool:
        tally = job_of(project, tmp_path, pool, notify=events.append).run()
    print(time.time() - began)
    assert (tally.outcome, tally.rewritten, tally.remaining) == (JobState.COMPLETE, 2_000, 0)
    assert key_ids(project) == {project.active_data_key_id}
    assert [event.seen for event in events if isinstance(event, Advanced)][-1] == 2_000
    (row,) = JobStore(project.engine).all()
    assert (row["part"], row["state"], row["seen"], row["rewritten"]) == ("whole", "complete", 2_000, 2_000)
    project.close()


def test_threads_of_this_process_do_each_row_once(tmp_path: Path, postgres_url: str) -> None:
    project = project_of(tmp_path, postgres_url)
    with ThreadPoolExecutor(2) as threads:
        tally = job_of(project, tmp_path, WorkersOf(threads, 2)).run()
    assert (tally.outcome, tally.rewritten) == (JobState.COMPLETE, 2_000)
    project.close()
