"""Keys end by themselves only where the policy says so, by the same scans as the commands, and none that is needed."""

from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from kms import KeyState, Purpose
from kms.key_database import writing
from kms.key_rows import time_text
from kms.seal_counter import SealCounter
from tests.kms.rested import let_rest
from tests.vault.cli.maintained import context_of, filled_project
from tests.vault.cli.test_due_reencryption import reencrypt
from tests.vault.retirement.aged_clearances import age_clearances
from vault.cli.due_endings import due_destruction, due_retirement
from vault.cli.maintenance_context import MaintenanceContext
from vault.databases.database_identity import DatabaseIdentity
from vault.databases.database_register import DatabaseRegister
from vault.maintenance.record_tables import maintenance_table
from vault.maintenance.run import MaintenanceRun
from vault.maintenance.step import Outcome, Step
from vault.maintenance.window import Window
from vault.project import Project
from vault.retirement.clearances import Clearances
from vault.rows.raw_table import raw_table


def end(context: MaintenanceContext) -> list[tuple[Outcome, str]]:
    run = MaintenanceRun(context.records, Window(None, 0.0), lambda _: None)
    looks = {Step.RETIRE: lambda: due_retirement(context), Step.DESTROY: lambda: due_destruction(context)}
    return [(one.result.outcome, one.result.told) for one in run.run(looks)]


def state(project: Project, purpose: Purpose = Purpose.DATA) -> KeyState:
    return project.opened.keyring.records(purpose)[0].state


@pytest.fixture
def rotated(tmp_path: Path) -> Project:
    project = filled_project(tmp_path)
    project.opened.keyring.lifecycle.rotate(Purpose.DATA)
    let_rest(project.opened.key_store.engine)
    return project


def test_a_key_is_retired_when_its_rows_were_moved_and_not_before(rotated: Project) -> None:
    context = context_of(rotated, retire=True)
    assert end(context) == [], "rows are under it"
    reencrypt(context)
    assert end(context_of(rotated)) == [], "the policy does not say so"
    ((outcome, told),) = end(context)
    assert (outcome, state(rotated)) == (Outcome.DONE, KeyState.RETIRED)
    assert "can only be restored" in told
    rotated.close()


def test_a_row_that_came_afterwards_keeps_its_key_and_is_not_scanned_for_every_hour(rotated: Project) -> None:
    """As by a service that slept through its lease: the record says that nothing is left, the scan says otherwise."""
    raw = raw_table(rotated.table("visit"))
    with rotated.engine.connect() as connection:
        old = connection.scalar(raw.select().with_only_columns(raw.c.diagnosis).where(raw.c.person == 1))
    context = context_of(rotated, retire=True)
    reencrypt(context)
    with rotated.engine.begin() as connection:
        connection.execute(raw.update().where(raw.c.person == 1).values(diagnosis=old))
    ((outcome, told),) = end(context)
    assert (outcome, state(rotated)) == (Outcome.FAILED, KeyState.DEACTIVATED)
    assert "is needed by 1 values of visit.diagnosis" in told
    assert end(context) == [], "not again within a day"
    with writing(rotated.opened.key_store.engine) as connection:
        past = time_text(context.records.now() - timedelta(days=1, seconds=1))
        connection.execute(update(maintenance_table).where(maintenance_table.c.step == "retire").values(ended_at=past))
    assert [outcome for outcome, _ in end(context)] == [Outcome.FAILED]
    rotated.close()


def test_another_database_of_the_keyring_is_waited_for_without_a_scan(rotated: Project) -> None:
    opened = rotated.opened
    register = DatabaseRegister(opened.key_store)
    other = DatabaseIdentity("sqlite:///elsewhere.db", "another file")
    register.see(opened.keyring.id, other)
    context = context_of(rotated, retire=True)
    reencrypt(context)
    ((outcome, told),) = end(context)
    assert (outcome, state(rotated)) == (Outcome.WAITING, KeyState.DEACTIVATED)
    assert "not yet sqlite:///elsewhere.db" in told
    assert end(context) == []
    register.forget(opened.keyring.id, other.digest)
    assert [outcome for outcome, _ in end(context)] == [Outcome.DONE]
    rotated.close()


def test_a_key_waits_for_as_long_as_another_database_needs(rotated: Project) -> None:
    opened, other = rotated.opened, DatabaseIdentity("sqlite:///elsewhere.db", "another file")
    old = opened.keyring.records(Purpose.DATA)[0]
    DatabaseRegister(opened.key_store).see(opened.keyring.id, other)
    clearances = Clearances(opened.key_store, opened.keyring.id)
    clearances.note(other.digest, old.key_id, clearances.now(), 0, cleared=True, wait=timedelta(days=90))
    context = context_of(rotated, retire=True)
    reencrypt(context)
    assert [outcome for outcome, _ in end(context)] == [Outcome.DONE]
    retired = opened.keyring.records(Purpose.DATA)[0]
    assert retired.destroy_after is not None
    assert retired.destroy_after - retired.changed_at >= timedelta(days=90) - timedelta(seconds=1)
    rotated.close()


def test_a_key_is_destroyed_only_where_the_policy_says_so_and_after_its_wait(rotated: Project) -> None:
    context = context_of(rotated, retire=True)
    reencrypt(context)
    end(context)
    assert end(context_of(rotated, retire=True, destroy=True)) == [], "it waits for backups to age out"
    let_rest(rotated.opened.key_store.engine)
    age_clearances(rotated.opened.key_store.engine, timedelta(days=31))
    assert end(context) == []
    assert state(rotated) is KeyState.RETIRED
    assert [outcome for outcome, _ in end(context_of(rotated, destroy=True))] == [Outcome.DONE]
    assert state(rotated) is KeyState.DESTROYED
    rotated.close()


def test_a_field_that_the_policy_does_not_name_keeps_its_key(rotated: Project) -> None:
    """A command tells its operator of it; here is nobody to be told."""
    context = context_of(rotated, retire=True)
    old = rotated.opened.keyring.records(Purpose.DATA)[0]
    reencrypt(context)
    SealCounter(rotated.opened.key_store.engine).reserve(old.key_id, "letter.body", 1)
    ((outcome, told),) = end(context)
    assert (outcome, state(rotated)) == (Outcome.FAILED, KeyState.DEACTIVATED)
    assert "letter.body" in told
    rotated.close()


@pytest.mark.postgres
def test_a_table_of_the_same_name_in_another_schema_keeps_the_key(tmp_path: Path, postgres_url: str) -> None:
    project = filled_project(tmp_path, database_url=postgres_url)
    project.opened.keyring.lifecycle.rotate(Purpose.DATA)
    let_rest(project.opened.key_store.engine)
    context = context_of(project, retire=True, destroy=True)
    with project.engine.begin() as connection:
        connection.exec_driver_sql("CREATE SCHEMA other")
        connection.exec_driver_sql("CREATE TABLE other.visit AS SELECT * FROM public.visit")
    reencrypt(context)
    ((outcome, told),) = end(context)
    assert (outcome, state(project)) == (Outcome.FAILED, KeyState.DEACTIVATED)
    assert "other.visit" in told
    project.close()


def test_an_index_key_in_use_and_ledger_keys_stay(rotated: Project) -> None:
    """Of the ledger keys one that no entry names, too: its turn is over, but a person decides."""
    for purpose in (Purpose.INDEX, Purpose.LEDGER, Purpose.LEDGER):
        rotated.opened.keyring.lifecycle.rotate(purpose)
    let_rest(rotated.opened.key_store.engine)
    context = context_of(rotated, retire=True)
    reencrypt(context)
    assert [outcome for outcome, _ in end(context)] == [Outcome.DONE], "the data key alone"
    for purpose in (Purpose.INDEX, Purpose.LEDGER):
        *older, _active = rotated.opened.keyring.records(purpose)
        assert {record.state for record in older} == {KeyState.DEACTIVATED}
    rotated.close()
