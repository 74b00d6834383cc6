"""Verification: each table every so often, and each fault told."""

import threading
from datetime import timedelta
from pathlib import Path

from tests.vault.cli.maintained import context_of, filled_project
from vault.cli.due_verification import due_verification
from vault.cli.maintenance_context import MaintenanceContext
from vault.maintenance.run import MaintenanceRun
from vault.maintenance.step import Outcome, Step
from vault.maintenance.window import Window
from vault.sample_size import Sample


def verify(context: MaintenanceContext) -> list[Outcome]:
    run = MaintenanceRun(context.records, Window(None, 0.0), lambda _: None)
    return [one.result.outcome for one in run.run({Step.VERIFY: lambda: due_verification(context)})]


def test_a_table_is_verified_at_first_and_again_when_the_time_is_over(tmp_path: Path) -> None:
    project = filled_project(tmp_path)
    context = context_of(project)
    assert verify(context) == [Outcome.DONE]
    assert verify(context) == []
    assert verify(context_of(project, verify_every=timedelta(0))) == [Outcome.DONE]
    project.close()


def test_a_sample_of_all_rows_finds_what_was_changed(tmp_path: Path) -> None:
    project = filled_project(tmp_path)
    with project.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE visit SET diagnosis = zeroblob(40) WHERE person = 2")
    (task,) = due_verification(context_of(project, verify_sample=Sample(share=1.0)))
    result = task.run(threading.Event())
    assert (result.outcome, result.rows) == (Outcome.INCOMPLETE, 5)
    assert "1 fail" in result.told
    project.close()
