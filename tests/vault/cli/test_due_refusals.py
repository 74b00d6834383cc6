"""A table that was made anew, as by a batch migration: check tells, maintain and destroy make its triggers again."""

from datetime import timedelta
from pathlib import Path

import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Integer
from sqlalchemy.exc import DBAPIError

from kms import KeyState, Purpose
from tests.kms.rested import let_rest
from tests.vault.cli.conftest import Run
from tests.vault.cli.maintained import context_of, filled_project
from tests.vault.cli.test_due_endings import end
from tests.vault.cli.test_due_reencryption import reencrypt
from tests.vault.retirement.aged_clearances import age_clearances
from vault.cli.checking import unrefused_keys
from vault.cli.key_clearing import KeyClearing
from vault.maintenance.step import Outcome
from vault.project import Project
from vault.retirement.refused_keys import refused_keys
from vault.rows.raw_table import raw_table


@pytest.fixture
def ended(tmp_path: Path) -> tuple[Project, bytes]:
    """A destroyed key, and a value that it sealed."""
    project = filled_project(tmp_path)
    raw = raw_table(project.table("visit"))
    with project.engine.connect() as connection:
        old = connection.scalar(raw.select().with_only_columns(raw.c.diagnosis).where(raw.c.person == 1))
    project.opened.keyring.lifecycle.rotate(Purpose.DATA)
    let_rest(project.opened.key_store.engine)
    context = context_of(project, retire=True, destroy=True)
    assert list(unrefused_keys(project)) == []
    reencrypt(context)
    end(context)
    let_rest(project.opened.key_store.engine)
    age_clearances(project.opened.key_store.engine, timedelta(days=31))
    end(context)
    assert project.opened.keyring.records(Purpose.DATA)[0].state is KeyState.DESTROYED
    assert list(unrefused_keys(project)) == []
    assert isinstance(old, bytes)
    return project, old


def migrate(project: Project) -> None:
    """As any revision on SQLite that changes a column."""
    with project.engine.begin() as connection:
        operations = Operations(MigrationContext.configure(connection))
        with operations.batch_alter_table("visit", recreate="always") as batch:
            batch.alter_column("site", existing_type=Integer(), nullable=True)


def write_late(project: Project, old: bytes) -> None:
    """As a process that slept since before the key was retired."""
    raw = raw_table(project.table("visit"))
    with project.engine.begin() as connection:
        connection.execute(raw.update().where(raw.c.person == 1).values(diagnosis=old))


def test_maintain_makes_the_triggers_anew(ended: tuple[Project, bytes]) -> None:
    project, old = ended
    context = context_of(project, retire=True)
    assert end(context) == []
    migrate(project)
    assert refused_keys(project.engine, project.table("visit")) == frozenset()
    assert end(context_of(project)) == [], "the policy does not say so"
    assert end(context) == [(Outcome.DONE, "visit: keys that ended are refused again")]
    with pytest.raises(DBAPIError, match="by a retired key"):
        write_late(project, old)
    assert end(context) == []
    project.close()


def test_check_tells_of_it_and_destroy_typed_again_makes_them(ended: tuple[Project, bytes], run: Run) -> None:
    project, _ = ended
    key_id = project.opened.keyring.records(Purpose.DATA)[0].key_id.hex()
    migrate(project)
    (told,) = unrefused_keys(project)
    assert f"visit was made anew, and no trigger refuses what destroyed keys sealed ({key_id})" in told
    assert run("init").status == 0  # makes the ledger
    assert f"wrong: {told}" in run("check").out
    command = told.rpartition("noisevault ")[2].split()
    again = run(*command)
    assert (again.err, again.status) == ("", 0)
    assert "visit refuses again" in again.out
    assert list(unrefused_keys(project)) == []
    assert run("check").status == 0
    assert KeyClearing(project).unrefused() == []
    project.close()
