"""A Dask cluster of separate processes that speak TLS: each row once, a killed worker, and what its scheduler sees."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.servers.dask import DaskServers, dask_servers
from tests.vault.jobs.workers.crew_project import ROWS, job_of, key_ids, project_of
from tests.vault.jobs.workers.secrets_of import secrets_of, told_in
from tests.vault.jobs.workers.test_shared_pass import SLOW, seen, until
from vault.errors import JobError
from vault.jobs.events import Event, WorkerLost
from vault.jobs.job_store import JobState
from vault.jobs.workers.dask_cluster import DaskCluster

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskServers]:
    with dask_servers(tmp_path_factory.mktemp("dask")) as servers:
        yield servers


def test_its_workers_do_each_row_once_and_its_scheduler_sees_no_key_and_no_plaintext(
    dask: DaskServers, tmp_path: Path, postgres_url: str
) -> None:
    project = project_of(tmp_path, postgres_url)
    with DaskCluster(dask.address, security=dask.security) as cluster:
        assert cluster.count >= 1
        tally = job_of(project, tmp_path, cluster).run()
    assert (tally.outcome, tally.rewritten) == (JobState.COMPLETE, ROWS)
    assert key_ids(project) == {project.active_data_key_id}
    told, secrets = dask.noted.read_bytes(), secrets_of(project, tmp_path)
    assert b"ReencryptRecipe" in told, "it is read as it is"
    assert str(tmp_path).encode() in told
    assert not told_in(told, secrets)
    assert told_in(told + secrets[3], secrets), "and would be found"
    project.close()


def test_a_killed_worker_s_part_goes_on_with_another(dask: DaskServers, tmp_path: Path, postgres_url: str) -> None:
    project, events = project_of(tmp_path, postgres_url), list[Event]()

    def kill() -> None:
        until(lambda: seen(project.engine) > 100)
        dask.workers.pop().kill()

    with ThreadPoolExecutor(1) as threads, DaskCluster(dask.address, security=dask.security) as cluster:
        killed = threads.submit(kill)
        tally = job_of(project, tmp_path, cluster, SLOW, notify=events.append).run()
        killed.result()
    assert (tally.outcome, tally.rewritten) == (JobState.COMPLETE, ROWS)
    assert any(isinstance(event, WorkerLost) for event in events)
    project.close()


def test_without_tls_and_without_a_scheduler_it_is_refused(dask: DaskServers) -> None:
    with pytest.raises(JobError, match="no tls:// address"):
        DaskCluster("tcp://127.0.0.1:8786")
    with pytest.raises(JobError, match="is not reached"):
        DaskCluster("tls://127.0.0.1:9", security=dask.security, seconds=0.5)
