"""What depends on each key, what jobs do and what is changing, on each database."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, insert, update

from kms import KeyState, Purpose
from kms.key_database import writing
from kms.key_tables import seal_count_table
from tests.vault import tenancy
from tests.vault.phases import set_phase
from tests.vault.projects import make_project, visit
from vault.attaching import attach
from vault.changeover.phase import Phase, Subject
from vault.jobs.status import Status, read_status
from vault.jobs.verifying.row_check import RowCheck
from vault.jobs.verifying.verify import Verify
from vault.project import Project
from vault.rows.header_counts import Made
from vault.rows.raw_table import raw_table

pytestmark = pytest.mark.databases_in_turn


@pytest.fixture
def project(tmp_path: Path, database_url: str) -> Iterator[Project]:
    project = make_project(tmp_path, database_url)
    with project.engine.begin() as connection:
        connection.execute(insert(project.table("visit")), [visit(person) for person in range(5)])
    yield project
    project.engine.dispose()


def status(project: Project) -> Status:
    return read_status(project.engine, project.opened.key_store, project.tables.values(), ["main"])


def test_each_key_has_its_state_and_what_depends_on_it(project: Project) -> None:
    keyring = project.opened.keyring
    old, index = (keyring.sealing(purpose).key.key_id for purpose in (Purpose.DATA, Purpose.INDEX))
    new = keyring.lifecycle.rotate(Purpose.DATA).key_id
    table = project.table("visit")
    with project.engine.begin() as connection:
        connection.execute(update(table).where(table.c.person == 3, table.c.year == 1).values(diagnosis="gout"))
    found = status(project)
    by_id = {key.record.key_id: key for key in found.keys}
    assert {id_: (key.values, key.terms, key.rows) for id_, key in by_id.items() if key.rows} == {
        old: (14, 0, 5),
        new: (1, 0, 1),
        index: (0, 5, 5),
    }
    assert (found.rows_naming(old), found.rows_naming(new), found.rows_naming(b"none")) == (5, 1, 0)
    assert (by_id[old].record.state, by_id[new].record.state) == (KeyState.DEACTIVATED, KeyState.ACTIVE)
    assert (found.state_of(old), found.state_of(b"none")) == ("deactivated", "unknown")
    assert by_id[new].seals > 0
    assert (found.jobs, found.quarantined, found.changes, found.unknown) == ((), {}, (), {})


def test_keys_that_nobody_has_are_told_with_their_rows(project: Project) -> None:
    raw = raw_table(project.table("visit"))
    with project.engine.begin() as connection:
        alien = b"\x01\x00abcd" + bytes(36)  # as long as a sealed float
        connection.execute(update(raw).where(raw.c.person < 2).values(diagnosis=alien, spending=alien))
    found = status(project)
    assert found.unknown == {b"abcd": 2}
    assert found.tables[0].columns[1].made[Made(b"abcd", 0)] == 2


def test_a_key_that_sealed_too_much_is_to_be_rotated(project: Project) -> None:
    keyring = project.opened.keyring
    key_id = keyring.sealing(Purpose.DATA).key.key_id
    for count, expected in ((2**31, False), (2**31 + 1, True)):
        with writing(project.opened.key_store.engine) as connection:
            counted = update(seal_count_table).where(seal_count_table.c.label == "visit.diagnosis")
            connection.execute(counted.values(counted=count))
        (key,) = [one for one in status(project).keys if one.record.key_id == key_id]
        assert (key.seals, key.rotate) == (count, expected)
    keyring.lifecycle.rotate(Purpose.DATA)
    assert not any(one.rotate for one in status(project).keys), "what does not seal any more is no danger"


def test_jobs_and_the_rows_that_they_left_are_told(project: Project) -> None:
    raw = raw_table(project.table("visit"))
    with project.engine.begin() as connection:
        connection.execute(update(raw).where(raw.c.person < 2).values(diagnosis=b"text", spending=b"text"))
    Verify(RowCheck(project.table("visit"), project.opened), project.engine).run()
    found = status(project)
    assert found.quarantined == {("verify", "visit"): 2}
    assert [(job["job"], job["state"], job["seen"]) for job in found.jobs] == [("verify", "incomplete", 5)]
    assert found.tables[0].columns[1].foreign == 2


def test_changes_under_way_are_told_with_their_keyring(project: Project) -> None:
    subject = Subject("visit", "national_id", "bidx")
    set_phase(project.opened.key_store, project.opened.keyring, subject, Phase.DUAL_ASK_OLD)
    ((keyring, change),) = status(project).changes
    assert (keyring, change.subject, change.old, change.new, change.phase) == ("main", subject, "a", "b", 2)


def test_the_keys_of_all_tenants_are_told_apart(tmp_path: Path, database_url: str) -> None:
    vaults, engine = tenancy.new_tenants(tmp_path), create_engine(database_url)
    attach(engine, vaults, tenancy.Base.metadata)
    tenancy.Base.metadata.create_all(engine)
    with engine.begin() as connection:
        rows = [{"id": at, "tenant_id": name, "email": f"{at}@x.example"} for at, name in enumerate(tenancy.TENANTS)]
        connection.execute(insert(tenancy.Member), rows)
    everyone = read_status(engine, vaults.key_store, [tenancy.Member.__table__], None)
    held = {(key.keyring, key.record.purpose.value): (key.values, key.terms) for key in everyone.keys if key.rows}
    assert held == {(name, "data"): (1, 0) for name in tenancy.TENANTS} | {(tenancy.LOOKUP, "index"): (0, 3)}
    (table,) = everyone.tables
    assert table.rows == 3
    named = read_status(engine, vaults.key_store, [tenancy.Visa.__table__], ["acme"])
    assert {key.keyring for key in named.keys} == {"acme"}
    others = read_status(engine, vaults.key_store, [tenancy.Member.__table__], ["acme"])
    seen = {(key.keyring, key.record.purpose.value) for key in others.keys if key.keyring != "acme"}
    assert seen == {("globex", "data"), ("umbrella", "data"), (tenancy.LOOKUP, "index")}, "since rows name them"
    assert others.unknown == {}
    tenancy.Base.metadata.drop_all(engine)
    engine.dispose()
    vaults.close()
