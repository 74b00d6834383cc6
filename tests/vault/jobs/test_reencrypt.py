"""Re-encryption on each database, with what services do meanwhile and with rows that do not open."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import pytest
from sqlalchemy import Column, Integer, MetaData, RowMapping, Table, Text, create_engine, insert, select, update
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from kms import ProviderSettings, Purpose
from tests.kms.rested import retire_and_destroy
from tests.sizes import sized
from tests.vault.projects import make_project, visit
from vault import BlindIndex
from vault.attaching import attach
from vault.errors import DestroyedKeyError, JobIncompleteError
from vault.jobs.change import Change, Failed
from vault.jobs.engine import Job
from vault.jobs.events import Advanced, Event
from vault.jobs.job_settings import JobSettings
from vault.jobs.job_store import JobState
from vault.jobs.pace import PaceSettings
from vault.jobs.proof import prove
from vault.jobs.quarantine import listed
from vault.jobs.reencrypt import Reencrypt
from vault.mapping import Sealed
from vault.opened import OpenedVault
from vault.project import Project
from vault.rows.raw_table import raw_table
from vault.rows.scan import key_id_of

pytestmark = pytest.mark.databases_in_turn

PERSONS = 50


@pytest.fixture
def project(tmp_path: Path, database_url: str) -> Iterator[Project]:
    project = make_project(tmp_path, database_url)
    with project.engine.begin() as connection:
        connection.execute(insert(project.table("visit")), [visit(person) for person in range(PERSONS)])
    yield project
    project.engine.dispose()


def job(project: Project, rows_a_batch: int = 10, **settings: Any) -> Job:
    pace = PaceSettings(most_rows=rows_a_batch)
    notify = settings.pop("notify", lambda _event: None)
    work = Reencrypt.of(project.table("visit"), project.opened)
    return Job(work, project.engine, JobSettings(pace, **settings), notify=notify)


def left(project: Project) -> int:
    """Rows not under the active key, by a scan."""
    return prove(project.engine, Reencrypt.of(project.table("visit"), project.opened)).remaining


def stored(project: Project) -> list[dict[str, Any]]:
    raw = raw_table(project.table("visit"))
    with project.engine.connect() as connection:
        return [dict(row) for row in connection.execute(select(raw).order_by(raw.c.person)).mappings()]


class WritesMeanwhile(Reencrypt):
    """A service writes after a page was read, before its batch is written; only the first time."""

    service: Callable[[], None] | None = None

    def renew(self, rows: Sequence[RowMapping]) -> tuple[list[Change], list[Failed]]:
        service, self.service = self.service, None
        if service is not None:
            service()
        return super().renew(rows)


def test_k11_01_every_value_moves_to_the_new_key_and_the_terms_stay(project: Project) -> None:
    before = stored(project)
    new = project.opened.keyring.lifecycle.rotate(Purpose.DATA).key_id
    tally = job(project).run()
    tally.require_complete()
    assert (tally.rewritten, tally.changed_meanwhile, tally.remaining) == (PERSONS, 0, 0)
    after = stored(project)
    for name in ("national_id", "diagnosis", "spending"):
        assert {key_id_of(row[name]) for row in after} == {new}
    assert [row["national_id_bidx_a"] for row in after] == [row["national_id_bidx_a"] for row in before]
    table = project.table("visit")
    with project.engine.connect() as connection:
        found = connection.execute(select(table.c.person, table.c.year, table.c.diagnosis, table.c.spending)).all()
    assert sorted(found) == [(person, 1, "asthma", 10.0) for person in range(PERSONS)]


def test_k11_01_without_the_replaced_keys_every_value_is_read(project: Project) -> None:
    """500 rows, under two keys by now, move to a third; the others are destroyed, and another process reads all."""
    keyring = project.opened.keyring
    first = keyring.sealing(Purpose.DATA).key.key_id
    second = keyring.lifecycle.rotate(Purpose.DATA).key_id
    with project.engine.begin() as connection:
        connection.execute(insert(project.table("visit")), [visit(person) for person in range(PERSONS, 500)])
    keyring.lifecycle.rotate(Purpose.DATA)
    tally = job(project, rows_a_batch=100).run()
    tally.require_complete()
    assert tally.rewritten == 500
    for key_id in (first, second):
        retire_and_destroy(keyring, project.opened.key_store.engine, key_id)
    fresh = Project.open(project.policy, ProviderSettings())
    table = fresh.table("visit")
    with fresh.engine.connect() as connection:
        found = connection.execute(select(table.c.person, table.c.year, table.c.national_id, table.c.diagnosis)).all()
    assert sorted(found) == [(person, 1, f"99-{person:05d}", "asthma") for person in range(500)]
    fresh.close()


def test_k11_own_1_of_a_row_only_what_is_under_an_older_key_is_written(project: Project) -> None:
    """A service changed one field of each second row after the rotation: these bytes stay; rows are counted once."""
    project.opened.keyring.lifecycle.rotate(Purpose.DATA)
    table = project.table("visit")
    with project.engine.begin() as connection:
        for person in range(0, PERSONS, 2):
            row = (table.c.person == person) & (table.c.year == 1)
            connection.execute(update(table).where(row).values(diagnosis=f"word {person}"))
    before = stored(project)
    tally = job(project).run()
    tally.require_complete()
    assert tally.rewritten == PERSONS
    after = stored(project)
    same = [(old["diagnosis"] == new["diagnosis"]) for old, new in zip(before, after, strict=True)]
    assert same == [person % 2 == 0 for person in range(PERSONS)]
    assert not any(old["national_id"] == new["national_id"] for old, new in zip(before, after, strict=True))


def test_k11_own_2_a_row_from_a_backup_names_the_key_that_was_destroyed(project: Project) -> None:
    """It is told from damage, left byte for byte, and does not keep the others from another rotation."""
    keyring, raw = project.opened.keyring, raw_table(project.table("visit"))
    old = keyring.sealing(Purpose.DATA).key.key_id
    backup = stored(project)[9]["diagnosis"]
    keyring.lifecycle.rotate(Purpose.DATA)
    job(project).run().require_complete()
    retire_and_destroy(keyring, project.opened.key_store.engine, old)
    with project.engine.begin() as connection:
        connection.execute(update(raw).where(raw.c.person == 9).values(diagnosis=backup))
    fresh = Project.open(project.policy, ProviderSettings())
    table = fresh.table("visit")
    with fresh.engine.connect() as connection:
        read = select(table.c.diagnosis, table.c.person, table.c.year)
        with pytest.raises(DestroyedKeyError, match=rf"visit\.diagnosis.*{old.hex()}"):
            connection.execute(read.where(table.c.person == 9)).all()
        assert connection.execute(read.where(table.c.person == 8)).one().diagnosis == "asthma"
    fresh.opened.keyring.lifecycle.rotate(Purpose.DATA)
    tally = job(fresh).run()
    assert (tally.rewritten, tally.failed, tally.remaining) == (PERSONS - 1, 1, 0)
    assert stored(project)[9]["diagnosis"] == backup
    with project.engine.connect() as connection:
        (entry,) = listed(connection)
    assert old.hex() in entry["reason"]
    fresh.close()


def test_a_second_run_has_nothing_to_do(project: Project) -> None:
    project.opened.keyring.lifecycle.rotate(Purpose.DATA)
    job(project).run()
    before = stored(project)
    assert job(project).run().rewritten == 0
    assert stored(project) == before


def test_k12_01_what_a_service_wrote_between_read_and_write_stays(project: Project) -> None:
    project.opened.keyring.lifecycle.rotate(Purpose.DATA)
    table = project.table("visit")

    def write() -> None:
        with project.engine.begin() as connection:
            connection.execute(
                update(table).where(table.c.person == 7, table.c.year == 1).values(national_id="99-77777")
            )

    work = WritesMeanwhile.of(table, project.opened)
    work.service = write
    tally = Job(work, project.engine, JobSettings(PaceSettings(most_rows=10))).run()
    assert (tally.changed_meanwhile, tally.remaining, tally.rewritten) == (1, 0, PERSONS)
    with project.engine.connect() as connection:
        found = connection.execute(
            select(table.c.person, table.c.year, table.c.national_id).where(table.c.national_id == "99-77777")
        ).all()
    assert found == [(7, 1, "99-77777")]
    assert left(project) == 0


def test_k12_own_1_rows_whose_keys_change_meanwhile_are_moved_wherever_they_went(project: Project) -> None:
    """To before and to behind the page in hand, and one away and back under the key of another."""
    project.opened.keyring.lifecycle.rotate(Purpose.DATA)
    letters = _letters((), 0)
    letters.create(project.engine)
    attach(project.engine, project.opened)
    with project.engine.begin() as connection:
        connection.execute(insert(letters), [{"id": n, "body": f"text {n}"} for n in range(PERSONS)])
    new = project.opened.keyring.lifecycle.rotate(Purpose.DATA).key_id
    raw = raw_table(letters)

    def move() -> None:
        with project.engine.begin() as connection:
            for was, now in ((1, 1001), (2, -2), (45, -45), (3, 1003), (44, 3), (1003, 44)):
                connection.execute(update(raw).where(raw.c.id == was).values(id=now))

    work = WritesMeanwhile.of(letters, project.opened)
    work.service = move
    tally = Job(work, project.engine, JobSettings(PaceSettings(most_rows=10))).run()
    tally.require_complete()
    with project.engine.connect() as connection:
        assert {key_id_of(body) for body in connection.scalars(select(raw.c.body))} == {new}
        bodies = dict(connection.execute(select(letters.c.id, letters.c.body)).all())
    moved = {1001: 1, -2: 2, -45: 45, 44: 3, 3: 44}
    stayed = {n: n for n in range(PERSONS) if n not in {1, 2, 3, 44, 45}}
    assert bodies == {key: f"text {n}" for key, n in (stayed | moved).items()}


def test_k12_own_2_a_service_that_holds_a_stale_object_and_a_version_writes_as_before(project: Project) -> None:
    """A job changes no version (version_id_col), so nobody's optimistic lock fails by it; what is written stays."""

    class Versioned(DeclarativeBase):
        pass

    class Note(Versioned):
        __tablename__ = "versioned"
        id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
        version: Mapped[int] = mapped_column()
        body: Mapped[str] = mapped_column(Sealed(Text, index=BlindIndex()))
        other: Mapped[str] = mapped_column(Sealed(Text))
        __mapper_args__: ClassVar[dict[str, Any]] = {"version_id_col": version}

    attach(project.engine, project.opened, Versioned.metadata)
    Versioned.metadata.create_all(project.engine)
    with Session(project.engine, expire_on_commit=False) as session:
        session.add_all([Note(id=n, body=f"text {n}", other="o") for n in range(20)])
        session.commit()
        note = session.get_one(Note, 7)
        session.commit()
        new = project.opened.keyring.lifecycle.rotate(Purpose.DATA).key_id
        Job(Reencrypt.of(Note.__table__, project.opened), project.engine).run().require_complete()
        note.body = "written by who read it before"
        session.commit()
        assert note.version == 2
        assert session.scalars(select(Note.id).where(Note.body == "written by who read it before")).all() == [7]
        assert set(session.scalars(select(Note.version).where(Note.id != 7))) == {1}
    with project.engine.connect() as connection:
        raw = raw_table(Note.__table__)
        assert {key_id_of(v) for row in connection.execute(select(raw.c.body, raw.c.other)) for v in row} == {new}


def test_k11_03_a_row_that_does_not_open_is_left_byte_for_byte_and_listed(project: Project) -> None:
    raw = raw_table(project.table("visit"))
    alien = b"\x01\x00\xff\xff\xff\xff" + bytes(40)
    with project.engine.begin() as connection:
        connection.execute(update(raw).where(raw.c.person == 9).values(diagnosis=alien))
    before = stored(project)[9]
    project.opened.keyring.lifecycle.rotate(Purpose.DATA)
    tally = job(project).run()
    assert (tally.rewritten, tally.failed, tally.remaining) == (PERSONS - 1, 1, 0)
    assert stored(project)[9] == before
    with project.engine.connect() as connection:
        (entry,) = listed(connection)
    assert (entry["table_name"], entry["row_key"], entry["column_name"]) == ("visit", "[9, 1]", "diagnosis")
    assert "ffffffff" in entry["reason"]
    with pytest.raises(JobIncompleteError, match="1 rows do not open"):
        tally.require_complete()


def test_k12_06_batches_of_only_bad_rows_do_not_end_the_run(project: Project) -> None:
    raw = raw_table(project.table("visit"))
    with project.engine.begin() as connection:
        bad = b"\x01\x00\xff\xff\xff\xff" + bytes(40)
        connection.execute(update(raw).where(raw.c.person.between(10, 19)).values(diagnosis=bad))
    project.opened.keyring.lifecycle.rotate(Purpose.DATA)
    tally = job(project).run()
    assert (tally.rewritten, tally.failed, tally.remaining) == (40, 10, 0)
    assert tally.outcome is JobState.INCOMPLETE


def test_null_stays_null_and_a_table_without_rows_is_done(project: Project) -> None:
    with project.engine.begin() as connection:
        connection.execute(raw_table(project.table("visit")).delete())
    assert job(project).run().outcome is JobState.COMPLETE
    with project.engine.begin() as connection:
        connection.execute(insert(project.table("visit")), [visit(1, diagnosis=None, national_id=None)])
    project.opened.keyring.lifecycle.rotate(Purpose.DATA)
    assert job(project).run().rewritten == 1
    (row,) = stored(project)
    assert row["diagnosis"] is None
    assert row["national_id_bidx_a"] is None


def test_k12_13_services_see_nothing_of_a_slow_run_and_its_progress_is_told(project: Project) -> None:
    """About 100 reads, writes and look-ups a second, for as long as the run lasts."""
    project.opened.keyring.lifecycle.rotate(Purpose.DATA)
    table, seconds, asked = project.table("visit"), sized(3, 30), 0
    wanted = dict.fromkeys(range(PERSONS), "asthma")
    events: list[Event] = []
    settings = JobSettings(PaceSettings(most_rows=5, rows_per_second=PERSONS / seconds))
    work = Reencrypt.of(table, project.opened)
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(Job(work, project.engine, settings, notify=events.append).run)
        while not running.done():
            person = asked * 7 % PERSONS
            row = (table.c.person == person) & (table.c.year == 1)
            with project.engine.begin() as connection:
                match asked % 3:
                    case 0:
                        assert connection.scalar(select(table.c.diagnosis).where(row)) == wanted[person]
                    case 1:
                        found = select(table.c.person).where(table.c.national_id == f"99-{person:05d}")
                        assert connection.scalars(found).all() == [person]
                    case _:
                        wanted[person] = f"word {asked}"
                        connection.execute(update(table).where(row).values(diagnosis=wanted[person]))
            asked += 1
            time.sleep(0.01)
        tally = running.result()
    tally.require_complete()
    assert asked > 20 * seconds
    with project.engine.connect() as connection:
        found = connection.execute(select(table.c.person, table.c.diagnosis)).all()
    assert dict(found) == wanted
    told = [event for event in events if isinstance(event, Advanced) and event.number == 1]
    assert [event.seen for event in told] == list(range(5, PERSONS + 1, 5))
    assert all(event.rows == PERSONS and event.rate > 0 for event in told)
    assert told[1].seconds_left


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
    reopened = OpenedVault(opened.keyring, opened.key_store)
    tally = Job(Reencrypt.of(second, reopened), engine).run()
    tally.require_complete()
    assert tally.rewritten == 3
    with engine.connect() as connection:
        assert {body[1] for body in connection.scalars(select(raw_table(second).c.body))} == {1}
        bodies = connection.scalars(select(second.c.body).order_by(second.c.id)).all()
    assert bodies == ["text 0", "text 1", "text 2"]
    assert Job(Reencrypt.of(second, reopened), engine).run().rewritten == 0


def _letters(bind: tuple[str, ...], generation: int) -> Table:
    return Table(
        "letters",
        MetaData(),
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("owner", Text),
        Column("body", Sealed(Text, bind=bind, generation=generation)),
    )
