"""Process pools: what passes the pipes between the processes, and what becomes of them."""

import io
import multiprocessing.reduction
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from tests.vault.jobs.workers.crew_project import job_of, key_ids, project_of, recipe_of
from tests.vault.jobs.workers.secrets_of import secrets_of, told_in
from tests.vault.jobs.workers.test_shared_pass import SETTINGS, others, until
from vault.jobs.job_store import JobName, JobState
from vault.jobs.parts import Part
from vault.jobs.workers.part_task import PartReport, PartTask
from vault.jobs.workers.process_pool import ProcessPool


def noted(monkeypatch: pytest.MonkeyPatch) -> bytearray:
    """Every byte that this process sends to its children, their first pickle included, and gets from them."""
    notes = bytearray()
    send, receive, dump = Connection._send, Connection._recv, multiprocessing.reduction.dump  # type: ignore[attr-defined]

    def sent(self: Any, buffer: Any, *others: Any) -> Any:
        notes.extend(buffer)
        return send(self, buffer, *others)

    def received(self: Any, size: int, *others: Any) -> io.BytesIO:
        found: io.BytesIO = receive(self, size, *others)
        notes.extend(found.getvalue())
        return found

    def dumped(thing: Any, file: io.BytesIO, *others: Any) -> None:
        before = file.tell()
        dump(thing, file, *others)
        notes.extend(file.getbuffer()[before:])

    monkeypatch.setattr(Connection, "_send", sent)
    monkeypatch.setattr(Connection, "_recv", received)
    monkeypatch.setattr(multiprocessing.reduction, "dump", dumped)
    return notes


@pytest.mark.postgres
def test_no_key_and_no_plaintext_passes_a_pipe(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, notes = project_of(tmp_path, postgres_url, 400), noted(monkeypatch)
    with ProcessPool(2) as pool:
        tally = job_of(project, tmp_path, pool).run()
    assert (tally.outcome, tally.rewritten) == (JobState.COMPLETE, 400)
    assert key_ids(project) == {project.active_data_key_id}
    secrets = secrets_of(project, tmp_path)
    assert b"ReencryptRecipe" in notes
    assert b"PartReport" in notes
    assert b"begin_worker_process" in notes
    assert not told_in(bytes(notes), secrets)
    assert told_in(bytes(notes) + secrets[-3], secrets), "and would be found"
    project.close()


def test_a_project_that_is_not_there_is_a_report_and_no_exception(tmp_path: Path) -> None:
    task = PartTask(
        "s", recipe_of(tmp_path), SETTINGS, JobName("reencrypt", "visit"), "r", "m", "g",
        Part(JobName("reencrypt", "visit", "p"), 0, None, None), 1,
    )  # fmt: skip
    with ProcessPool(1) as pool:
        report = pool.submit(_run, task).result()
        assert "there is no policy file" in report.failure
        (process,) = others()
        broken = pool.submit(_never, task)
        process.kill()
        with pytest.raises(BrokenProcessPool):
            broken.result()
        again = pool.submit(_run, task).result()
        assert again == report, "another pool has taken its place"
    until(lambda: not others())


def _run(task: PartTask) -> PartReport:
    from vault.jobs.workers.part_run import run_part

    return run_part(task)


def _never(_task: PartTask) -> PartReport:
    import threading

    threading.Event().wait()
    raise AssertionError
