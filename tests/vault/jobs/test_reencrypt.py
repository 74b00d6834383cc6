"""Re-encryption on each database, with what services do meanwhile and with rows that do not open."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import (
    Column,
    Connection,
    Integer,
    MetaData,
    Table,
    Text,
    create_engine,
    insert,
    select,
    text,
    update,
)

from kms import Purpose
from tests.servers.databases import SERVERS
from tests.vault.projects import make_project, visit
from vault.attach import attach
from vault.errors import JobIncompleteError
from vault.jobs.reencrypt import Progress, Reencryption
from vault.mapping import Sealed, definition_of
from vault.opened import OpenedVault
from vault.project import Project
from vault.raw_table import raw_table
from vault.scan import key_id_of

PERSONS = 50


@pytest.fixture
def project(tmp_path: Path, database_url: str) -> Iterator[Project]:
    project = make_project(tmp_path, database_url)
    with project.engine.begin() as connection:
        connection.execute(insert(project.table("visit")), [visit(person) for person in range(PERSONS)])
    yield project
    project.engine.dispose()


def job(project: Project, rows_a_batch: int = 10) -> Reencryption:
    table = project.table("visit")
    return Reencryption(project.engine, table, project.fields(table), rows_a_batch)


def stored(project: Project) -> list[dict[str, Any]]:
    raw = raw_table(project.table("visit"))
    with project.engine.connect() as connection:
        return [dict(row) for row in connection.execute(select(raw).order_by(raw.c.person)).mappings()]


def test_k11_01_every_value_moves_to_the_new_key_and_the_terms_stay(project: Project) -> None:
    before = stored(project)
    new = project.opened.keyring.lifecycle.rotate(Purpose.DATA).key_id
    report = job(project).run()
    report.require_complete()
    assert (report.rewritten, report.changed_meanwhile, report.remaining) == (PERSONS, 0, 0)
    after = stored(project)
    for name in ("national_id", "diagnosis", "spending"):
        assert {key_id_of(row[name]) for row in after} == {new}
    assert [row["national_id_bidx_a"] for row in after] == [row["national_id_bidx_a"] for row in before]
    table = project.table("visit")
    with project.engine.connect() as connection:
        found = connection.execute(select(table.c.person, table.c.year, table.c.diagnosis, table.c.spending)).all()
    assert sorted(found) == [(person, 1, "asthma", 10.0) for person in range(PERSONS)]


def test_a_second_run_has_nothing_to_do(project: Project) -> None:
    project.opened.keyring.lifecycle.rotate(Purpose.DATA)
    job(project).run()
    before = stored(project)
    assert job(project).run().rewritten == 0
    assert stored(project) == before


def test_a_run_that_died_is_started_again_and_ends(project: Project) -> None:
    project.opened.keyring.lifecycle.rotate(Purpose.DATA)

    def die(step: Progress) -> None:
        if step.seen == 30:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        job(project).run(die)
    assert job(project).count_stale() == PERSONS - 30
    assert job(project).run().rewritten == PERSONS - 30


def test_k12_01_what_a_service_wrote_between_read_and_write_stays(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.opened.keyring.lifecycle.rotate(Purpose.DATA)
    table = project.table("visit")
    write: Callable[..., int] = Reencryption._write
    wrote: list[int] = []

    def write_late(self: Reencryption, raw: Any, changes: Any) -> int:
        if not wrote:
            wrote.append(7)
            with project.engine.begin() as connection:
                connection.execute(
                    update(table).where(table.c.person == 7, table.c.year == 1).values(national_id="99-77777")
                )
        return write(self, raw, changes)

    monkeypatch.setattr(Reencryption, "_write", write_late)
    report = job(project).run()
    assert (report.changed_meanwhile, report.remaining) == (1, 0)
    with project.engine.connect() as connection:
        found = connection.execute(
            select(table.c.person, table.c.year, table.c.national_id).where(table.c.national_id == "99-77777")
        ).all()
    assert found == [(7, 1, "99-77777")]
    assert job(project).count_stale() == 0


WAITING = {
    "postgresql": "SELECT count(*) FROM pg_locks WHERE NOT granted",
    "mysql": "SELECT count(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'",
}


@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
def test_k12_01_a_deadlock_with_a_service_ends_neither(project: Project) -> None:
    """The job holds the rows before 7 and waits for it; the service holds 7 and comes back to 3."""
    project.opened.keyring.lifecycle.rotate(Purpose.DATA)
    table, engine = project.table("visit"), project.engine

    def move(connection: Connection, person: int) -> None:
        connection.execute(update(table).where(table.c.person == person, table.c.year == 1).values(site=3))

    def until_the_job_waits() -> None:
        end = time.monotonic() + 30
        with engine.connect() as looking:
            while not looking.scalar(text(WAITING[engine.dialect.name])):
                looking.rollback()
                assert time.monotonic() < end, "the job never waited"
                time.sleep(0.2)  # MariaDB reads its table anew only if nobody did within 0.1 s

    with ThreadPoolExecutor(1) as threads:
        with engine.begin() as service:
            move(service, 7)
            # MariaDB ends the transaction that changed less.
            service.execute(insert(table), [visit(person) for person in range(1000, 1100)])
            running = threads.submit(job(project).run)
            until_the_job_waits()
            move(service, 3)
        report = running.result(60)
    assert (report.changed_meanwhile, report.remaining) == (10, 0)
    assert {row["person"] for row in stored(project) if row["site"] == 3} >= {3, 7}
    assert job(project).count_stale() == 0


def test_k11_03_a_row_that_does_not_open_is_left_byte_for_byte_and_listed(project: Project) -> None:
    raw = raw_table(project.table("visit"))
    with project.engine.begin() as connection:
        alien = b"\x01\x00\xff\xff\xff\xff" + bytes(40)
        connection.execute(update(raw).where(raw.c.person == 9).values(diagnosis=alien))
    before = stored(project)[9]
    project.opened.keyring.lifecycle.rotate(Purpose.DATA)
    report = job(project).run()
    assert report.rewritten == PERSONS - 1
    assert report.unreadable == [(9, 1)]
    assert stored(project)[9] == before
    with pytest.raises(JobIncompleteError, match="1 rows do not open"):
        report.require_complete()


def test_k12_06_batches_of_only_bad_rows_do_not_end_the_run(project: Project) -> None:
    raw = raw_table(project.table("visit"))
    with project.engine.begin() as connection:
        bad = b"\x01\x00\xff\xff\xff\xff" + bytes(40)
        connection.execute(update(raw).where(raw.c.person.between(10, 19)).values(diagnosis=bad))
    project.opened.keyring.lifecycle.rotate(Purpose.DATA)
    report = job(project).run()
    assert (report.rewritten, len(report.unreadable), report.remaining) == (40, 10, 0)


def test_null_stays_null_and_a_table_without_rows_is_done(project: Project) -> None:
    with project.engine.begin() as connection:
        connection.execute(raw_table(project.table("visit")).delete())
        connection.execute(insert(project.table("visit")), [visit(1, diagnosis=None, national_id=None)])
    project.opened.keyring.lifecycle.rotate(Purpose.DATA)
    assert job(project).run().rewritten == 1
    (row,) = stored(project)
    assert row["diagnosis"] is None
    assert row["national_id_bidx_a"] is None


def test_progress_is_told_for_every_batch(project: Project) -> None:
    steps: list[Progress] = []
    job(project).run(steps.append)
    assert [step.seen for step in steps] == [10, 20, 30, 40, 50]
    assert {step.total for step in steps} == {PERSONS}


@pytest.mark.parametrize("before", [(), ("id",), ("owner",), ("id", "owner")])
@pytest.mark.parametrize("after", [(), ("id",)])
def test_values_of_an_older_generation_move_to_the_declared_one(
    tmp_path: Path, before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    opened = make_project(tmp_path).opened
    engine = create_engine(f"sqlite:///{tmp_path / 'letters.db'}")
    attach(engine, opened)
    first, second = _letters(before, 0), _letters(after, 1)
    first.create(engine)
    with engine.begin() as connection:
        connection.execute(insert(first), [{"id": n, "owner": "o", "body": f"text {n}"} for n in range(3)])
    fields = {"body": OpenedVault(opened.keyring, opened.key_store).field(definition_of(second.c.body))}
    report = Reencryption(engine, second, fields).run()
    report.require_complete()
    assert report.rewritten == 3
    with engine.connect() as connection:
        assert {body[1] for body in connection.scalars(select(raw_table(second).c.body))} == {1}
        bodies = connection.scalars(select(second.c.body).order_by(second.c.id)).all()
    assert bodies == ["text 0", "text 1", "text 2"]
    assert Reencryption(engine, second, fields).run().rewritten == 0


def _letters(bind: tuple[str, ...], generation: int) -> Table:
    return Table(
        "letters",
        MetaData(),
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("owner", Text),
        Column("body", Sealed(Text, bind=bind, generation=generation)),
    )
