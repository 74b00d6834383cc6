"""Re-encryption: due where rows may be under an older key, and told without reading a row."""

import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, event, update

from kms import Purpose
from kms.key_database import writing
from kms.key_rows import time_text
from tests.kms.rested import let_rest
from tests.vault.cli.maintained import context_of, filled_project
from tests.vault.projects import visit
from vault.cli.due_reencryption import due_reencryption
from vault.cli.maintenance_context import MaintenanceContext
from vault.maintenance.record_tables import maintenance_table
from vault.maintenance.run import MaintenanceRun
from vault.maintenance.step import Outcome, Step
from vault.maintenance.window import Window
from vault.project import Project


def reencrypt(context: MaintenanceContext) -> list[Outcome]:
    run = MaintenanceRun(context.records, Window(None, 0.0), lambda _: None)
    return [one.result.outcome for one in run.run({Step.REENCRYPT: lambda: due_reencryption(context)})]


def rotated(folder: Path) -> Project:
    project = filled_project(folder)
    project.opened.keyring.lifecycle.rotate(Purpose.DATA)
    return project


def test_it_waits_for_the_lease_and_is_done_once(tmp_path: Path) -> None:
    project = rotated(tmp_path)
    context = context_of(project)
    assert due_reencryption(context) == [], "services may seal by the older key still"
    let_rest(project.opened.key_store.engine)
    assert due_reencryption(context_of(project, reencrypt=False)) == []
    assert reencrypt(context) == [Outcome.DONE]
    assert due_reencryption(context) == []
    project.close()


def test_where_no_older_key_lives_nothing_was_ever_due(tmp_path: Path) -> None:
    project = filled_project(tmp_path)
    assert due_reencryption(context_of(project)) == []
    project.close()


def test_that_nothing_is_due_is_told_without_reading_the_table(tmp_path: Path) -> None:
    project = rotated(tmp_path)
    let_rest(project.opened.key_store.engine)
    context = context_of(project)
    reencrypt(context)
    read: list[str] = []

    def executed(_connection: Connection, _cursor: Any, statement: str, *_others: Any) -> None:
        if "FROM visit" in statement:
            read.append(statement)

    event.listen(project.engine, "before_cursor_execute", executed)
    assert due_reencryption(context) == []
    assert read == []
    event.remove(project.engine, "before_cursor_execute", executed)
    project.close()


def test_a_key_that_is_restored_since_is_looked_for_again(tmp_path: Path) -> None:
    """Old rows may be brought back with it, from a backup."""
    project = rotated(tmp_path)
    engine, lifecycle = project.opened.key_store.engine, project.opened.keyring.lifecycle
    old = project.opened.keyring.records(Purpose.DATA)[0]
    let_rest(engine)
    context = context_of(project)
    reencrypt(context)
    lifecycle.retire(old.key_id)
    assert due_reencryption(context) == []
    lifecycle.restore(old.key_id)
    with project.engine.begin() as connection:
        connection.execute(project.table("visit").insert(), [visit(99)])
    assert [task.step for task in due_reencryption(context)] == [Step.REENCRYPT]
    project.close()


def test_what_was_found_is_believed_for_a_month(tmp_path: Path) -> None:
    project = rotated(tmp_path)
    engine = project.opened.key_store.engine
    let_rest(engine)
    context = context_of(project)
    reencrypt(context)
    with writing(engine) as connection:
        past = time_text(context.records.now() - timedelta(days=31))
        connection.execute(update(maintenance_table).values(begun_at=past, ended_at=past))
    assert [task.step for task in due_reencryption(context)] == [Step.REENCRYPT]
    project.close()


def test_a_run_that_left_rows_is_due_again(tmp_path: Path) -> None:
    project = rotated(tmp_path)
    let_rest(project.opened.key_store.engine)
    with project.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE visit SET diagnosis = zeroblob(40) WHERE person = 2")
    context = context_of(project)
    assert reencrypt(context) == [Outcome.INCOMPLETE]
    assert reencrypt(context) == [Outcome.INCOMPLETE]
    project.close()


def test_of_a_closed_keyring_nothing_is_due(tmp_path: Path) -> None:
    project = rotated(tmp_path)
    let_rest(project.opened.key_store.engine)
    active = project.opened.keyring.records(Purpose.DATA)[-1]
    project.opened.keyring.lifecycle.deactivate(active.key_id)
    assert due_reencryption(context_of(project)) == []
    project.close()


def test_it_is_stopped_by_the_event(tmp_path: Path) -> None:
    project = rotated(tmp_path)
    let_rest(project.opened.key_store.engine)
    (task,) = due_reencryption(context_of(project))
    stop = threading.Event()
    stop.set()
    assert (task.run(stop).outcome, task.resumes) == (Outcome.STOPPED, True)
    project.close()
