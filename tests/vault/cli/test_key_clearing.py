"""What commands do before a key goes: nothing against one whose turn comes; killed, the same command goes on."""

import multiprocessing
import os
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine, event, select, text

from kms import KeyState, ProviderSettings, Purpose
from tests.kms.rested import let_rest
from tests.vault.cli.conftest import CSV, Run
from tests.vault.cli.test_ending_keys import keys, rest
from tests.vault.projects import make_project, visit, write_policy
from vault.budgets import declare_budgets
from vault.cli.key_clearing import KeyClearing
from vault.cli.still_needed import StillNeeded
from vault.databases.database_identity import DatabaseIdentity, identity_of
from vault.databases.database_register import DatabaseRegister
from vault.errors import KeyInUseError, NotClearedError
from vault.jobs.job_settings import JobSettings
from vault.jobs.pace import PaceSettings
from vault.opened_ledger import open_ledger
from vault.policy import Policy
from vault.project import Project
from vault.retirement.clearances import Clearances
from vault.retirement.refused_keys import refused_keys
from vault.rows.raw_table import raw_table

pytestmark = pytest.mark.databases_in_turn

ROWS = 1000
PACE = PaceSettings()


def refused(project: Project) -> frozenset[bytes]:
    return refused_keys(project.engine, project.table("visit"))


def retire(project: Project, key_id: bytes, pace: PaceSettings = PACE) -> None:
    clearing = KeyClearing(project, reencrypt=True, settings=JobSettings(pace))
    project.opened.keyring.lifecycle.retire(
        key_id, look=lambda found: clearing.require_cleared(found, found.changed_at)
    )


def test_a_key_whose_turn_to_seal_comes_is_refused_by_no_trigger(tmp_path: Path, database_url: str) -> None:
    """Restored, it may become active: then a trigger would refuse every write."""
    project = make_project(tmp_path, database_url)
    keyring = project.opened.keyring
    waiting = keyring.lifecycle.prepare(Purpose.DATA)
    retire(project, waiting.key_id)
    let_rest(project.opened.key_store.engine)
    record = next(one for one in keyring.records() if one.key_id == waiting.key_id)
    assert record.destroy_after is not None
    KeyClearing(project).require_cleared(record, record.destroy_after)  # as destroy does
    assert refused(project) == frozenset()
    keyring.lifecycle.restore(waiting.key_id)
    assert keyring.lifecycle.rotate(Purpose.DATA).key_id == waiting.key_id
    with project.engine.begin() as connection:
        connection.execute(project.table("visit").insert(), [visit(1)])
    project.close()


def test_a_key_that_the_key_store_forgot_to_have_been_active_is_looked_for_everywhere(tmp_path: Path) -> None:
    """A key store that was put back has it as a key that never sealed; rows of another database are under it."""
    project = make_project(tmp_path)
    opened = project.opened
    other = DatabaseIdentity("postgresql://db.example.org:5432/billing")
    DatabaseRegister(opened.key_store).see(opened.keyring.id, other)
    waiting = opened.keyring.lifecycle.prepare(Purpose.DATA)
    with pytest.raises(NotClearedError):
        retire(project, waiting.key_id)
    clearances = Clearances(opened.key_store, opened.keyring.id)
    clearances.note(other.digest, waiting.key_id, clearances.now(), 3)
    with pytest.raises(NotClearedError):
        retire(project, waiting.key_id)
    clearances.note(other.digest, waiting.key_id, clearances.now(), 0)
    retire(project, waiting.key_id)
    assert opened.keyring.records(Purpose.DATA)[-1].state is KeyState.RETIRED
    record = opened.keyring.records(Purpose.DATA)[-1]
    assert [one.place for one in KeyClearing(project).missing(record, clearances.now())] == [
        "postgresql://db.example.org:5432/billing",
        identity_of(project.engine).place,
    ], "scanned again before it is destroyed"
    assert refused(project) == frozenset()
    project.close()


def test_the_triggers_of_keys_that_went_before_are_made_again(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    lifecycle = project.opened.keyring.lifecycle
    first, second = lifecycle.rotate(Purpose.DATA), lifecycle.rotate(Purpose.DATA)
    let_rest(project.opened.key_store.engine)
    retire(project, first.key_id)
    with project.engine.begin() as connection:
        for (name,) in connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'trigger'").all():
            connection.exec_driver_sql(f"DROP TRIGGER {name}")  # as a table that is made anew has none
    lifecycle.rotate(Purpose.DATA)
    let_rest(project.opened.key_store.engine)
    retire(project, second.key_id)
    assert refused(project) == {first.key_id, second.key_id}
    project.close()


def _killed(folder: Path, key_id: bytes, batches: int) -> None:
    """In the other process: it dies, as by kill -9, when so many batches are committed and one more is written."""
    project = Project.open(Policy.load(folder / "noisevault.toml"), ProviderSettings())
    done, touched = [0], set()

    def executed(connection: Connection, _cursor: Any, statement: str, *_others: Any) -> None:
        if "visit" in statement:
            touched.add(id(connection))

    def committing(connection: Connection) -> None:
        if id(connection) in touched:
            touched.discard(id(connection))
            done[0] += 1
            if done[0] > batches:
                os.kill(os.getpid(), signal.SIGKILL)

    event.listen(project.engine, "after_cursor_execute", executed)
    event.listen(project.engine, "commit", committing)
    event.listen(project.engine, "rollback", lambda connection: touched.discard(id(connection)))
    retire(project, key_id, PaceSettings(least_rows=ROWS // 10, most_rows=ROWS // 10))


def test_k12_08_retiring_that_is_killed_goes_on_by_the_same_command_and_each_row_is_moved_once(
    tmp_path: Path, database_url: str
) -> None:
    """kill -9 after 4 batches of 10: the earlier ones are committed, the rest is moved, and the key is retired."""
    project = make_project(tmp_path, database_url)
    table = project.table("visit")
    with project.engine.begin() as connection:
        connection.execute(table.insert(), [visit(person) for person in range(ROWS)])
    (old,) = project.opened.keyring.records(Purpose.DATA)
    project.opened.keyring.lifecycle.rotate(Purpose.DATA)
    let_rest(project.opened.key_store.engine)
    process = multiprocessing.get_context("spawn").Process(target=_killed, args=(tmp_path, old.key_id, 4))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert refused(project) == frozenset()
    moved = stored(project, old.key_id)
    assert len(moved) == ROWS * 4 // 10, "what was committed is there"
    time.sleep(10.5)  # a run that gives no sign of life for 10 s is taken for dead
    retire(project, old.key_id)
    assert refused(project) == {old.key_id}
    after = stored(project, old.key_id)
    assert len(after) == ROWS
    assert {person: after[person] for person in moved} == moved, "each row was rewritten once"
    assert project.opened.keyring.records(Purpose.DATA)[0].state is KeyState.RETIRED
    project.close()


def stored(project: Project, old: bytes) -> dict[int, bytes]:
    """The diagnoses that another key sealed."""
    raw = raw_table(project.table("visit"))
    with project.engine.connect() as connection:
        found = connection.execute(select(raw.c.person, raw.c.diagnosis)).all()
    return {person: bytes(value) for person, value in found if bytes(value)[2:6] != old}


def test_k11_07_of_an_index_key_says_what_to_run_and_makes_no_trigger(loaded: Run, tmp_path: Path) -> None:
    (old,) = keys(loaded, "index")
    loaded("rotate", "--purpose", "index")
    rest(tmp_path)
    words = ("keys", "retire", old["key_id"], "--confirm", "main")
    refusal = loaded(*words)
    assert (refusal.status, refusal.out) == (1, "")
    assert "1 slot (bidx, a) of visit.national_id, 4 terms of visit.national_id_bidx_a" in refusal.err
    assert "noisevault reindex --all --wait" in refusal.err
    engine = create_engine(f"sqlite:///{tmp_path / 'application.db'}")
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT COUNT(*) FROM sqlite_master WHERE type = 'trigger'").scalar() == 0
    engine.dispose()


def test_a_ledger_key_that_was_active_stays_though_this_ledger_does_not_name_it(tmp_path: Path) -> None:
    """The ledger of another policy with the same keyring may: its entries and answers would be lost."""
    project = make_project(tmp_path)
    keyring = project.opened.keyring
    declare_budgets(open_ledger(project.policy, keyring), project.policy)
    shared = keyring.lifecycle.rotate(Purpose.LEDGER)
    other = project.policy.model_copy(
        update={"vault": project.policy.vault.model_copy(update={"ledger": f"sqlite:///{tmp_path / 'other.db'}"})}
    )
    ledger = open_ledger(other, keyring)
    declare_budgets(ledger, other)
    keyring.lifecycle.rotate(Purpose.LEDGER)
    let_rest(project.opened.key_store.engine)
    assert StillNeeded(project).uses(shared) == []
    with pytest.raises(KeyInUseError, match=r"was active: the ledger of another policy, .* so the key stays"):
        retire(project, shared.key_id)
    ledger.verify_audit()
    ledger.close()
    project.close()


@pytest.mark.postgres
def test_a_key_whose_turn_comes_is_not_counted_by_a_role_that_sees_a_part(tmp_path: Path, postgres_url: str) -> None:
    """The key store may have been put back, and have forgotten that it had its turn."""
    project = make_project(tmp_path, postgres_url)
    waiting = project.opened.keyring.lifecycle.prepare(Purpose.DATA)
    with project.engine.begin() as connection:
        for statement in (
            "CREATE ROLE part_of_visits",
            "GRANT SELECT ON visit TO part_of_visits",
            "ALTER TABLE visit ENABLE ROW LEVEL SECURITY",
        ):
            connection.execute(text(statement))
    clerk = create_engine(postgres_url, connect_args={"options": "-c role=part_of_visits"})
    try:
        as_clerk = Project(project.policy, clerk, project.tables, project.opened)
        with pytest.raises(KeyInUseError, match="row-level security shows this role a part of visit"):
            retire(as_clerk, waiting.key_id)
        retire(project, waiting.key_id)
    finally:
        clerk.dispose()
        with project.engine.begin() as connection:
            connection.execute(text("DROP OWNED BY part_of_visits"))
            connection.execute(text("DROP ROLE part_of_visits"))
        project.close()


def test_a_ledger_key_that_never_was_active_is_only_counted(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    keyring = project.opened.keyring
    declare_budgets(open_ledger(project.policy, keyring), project.policy)
    waiting = keyring.lifecycle.prepare(Purpose.LEDGER)
    retire(project, waiting.key_id)
    let_rest(project.opened.key_store.engine)
    keyring.lifecycle.destroy(
        waiting.key_id, look=lambda found: KeyClearing(project).require_cleared(found, found.changed_at)
    )
    assert keyring.records(Purpose.LEDGER)[-1].state is KeyState.DESTROYED
    assert refused(project) == frozenset()
    project.close()


def test_an_index_key_is_retired_when_reindexing_has_moved_every_term(run: Run, tmp_path: Path) -> None:
    """Then its terms are refused, in both slots."""
    policy = write_policy(tmp_path)
    policy.write_text(policy.read_text().replace('kek = "local', 'sealing_lease = 1\nkek = "local'))
    (tmp_path / "visits.csv").write_text(CSV, encoding="utf-8")
    assert run("init").status == 0
    assert run("import", "visits.csv").status == 0
    (old,) = keys(run, "index")
    run("rotate", "--purpose", "index")
    moved = run("reindex", "--all", "--wait")
    assert moved.status == 0, moved.err
    rest(tmp_path)
    retired = run("keys", "retire", old["key_id"], "--confirm", "main")
    assert (retired.status, retired.err) == (0, "")
    assert "asthma" in run("find", "national_id", "111").out
    with closing(sqlite3.connect(tmp_path / "application.db")) as data:
        for slot in "ab":
            late = f"UPDATE visit SET national_id_bidx_{slot} = x'00{old['key_id']}{'00' * 16}'"
            with pytest.raises(sqlite3.IntegrityError, match="a term of visit"):
                data.execute(late)
