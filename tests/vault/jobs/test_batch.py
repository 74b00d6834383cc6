"""A batch is written whole with its checkpoint, or not at all."""

import re
import traceback
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, RowMapping, create_engine, insert, text, update

from tests.servers.databases import SERVERS
from tests.vault.jobs.plain_work import NOTES, Capitals, bodies, write_notes
from tests.vault.jobs.writing_one_by_one import WritesOneByOne
from vault.errors import JobError, JobRunningError
from vault.jobs.batch import Batch, CommitsBatches
from vault.jobs.change import Change, Failed
from vault.jobs.engine import Job
from vault.jobs.events import Event, RowFailed
from vault.jobs.job_store import JobName, JobState, JobStore, Taken
from vault.jobs.outage import Outage
from vault.jobs.quarantine import listed
from vault.jobs.work import BatchWriter

NAME = JobName("capitals", "note")
CHANGES = [Change((at,), ("a",), ("A",)) for at in range(3)]
BATCH = Batch(4, (3,), CHANGES, [Failed((3,), "body", "no"), Failed((3,), "title", "no")])


@pytest.fixture
def engine(database_url: str) -> Engine:
    engine = create_engine(database_url)
    write_notes(engine, ["a"] * 4)
    return engine


def commits(engine: Engine, writer: BatchWriter | None = None, tries: int = 2) -> tuple[CommitsBatches, Taken]:
    store = JobStore(engine)
    store.create()
    made = CommitsBatches(
        engine, store, writer or WritesOneByOne(Capitals()), ["body"], Outage(1, table="note"), tries, 1
    )
    return made, store.take(NAME, "goal", 4, silence=0)


def test_rows_checkpoint_and_quarantine_are_written_together(engine: Engine) -> None:
    made, taken = commits(engine)
    assert made.commit(taken, BATCH).written == 3
    assert bodies(engine) == ["A", "A", "A", "a"]
    (row,) = made.store.all()
    assert (row["done_up_to"], row["seen"], row["rewritten"], row["missed"], row["failed"]) == ("[3]", 4, 3, 0, 1)
    with engine.connect() as connection:
        assert [(entry["row_key"], entry["column_name"]) for entry in listed(connection)] == [
            ("[3]", "body"),
            ("[3]", "title"),
        ]


class Fails(WritesOneByOne):
    """After it has written."""

    def write(self, connection: Connection, changes: object) -> list[bool]:
        super().write(connection, changes)  # type: ignore[arg-type]
        connection.execute(text("SELECT nothing FROM nowhere"))
        raise AssertionError


def test_of_a_batch_that_fails_nothing_is_left(engine: Engine) -> None:
    made, taken = commits(engine, Fails(Capitals()))
    with pytest.raises(JobError, match="the database refused a statement of the job: "):
        made.commit(taken, BATCH)
    assert bodies(engine) == ["a"] * 4
    assert made.store.all()[0]["done_up_to"] is None


def test_a_run_whose_job_another_has_taken_writes_nothing_more(engine: Engine) -> None:
    made, taken = commits(engine)
    made.store.take(NAME, "goal", 4, silence=0)
    with pytest.raises(JobRunningError):
        made.commit(taken, BATCH)
    assert bodies(engine) == ["a"] * 4


@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
def test_what_others_hold_all_the_while_is_missed_and_the_others_are_written(engine: Engine) -> None:
    made, taken = commits(engine)
    with create_engine(engine.url).begin() as service:
        service.execute(update(NOTES).where(NOTES.c.id == 1).values(owner=1))
        done = made.commit(taken, BATCH)
    assert (done.written, list(done.refused)) == (2, [])
    assert bodies(engine) == ["A", "a", "A", "a"]
    (row,) = made.store.all()
    assert (row["done_up_to"], row["seen"], row["rewritten"], row["missed"]) == ("[3]", 4, 2, 1)


def test_a_writer_that_others_keep_out_of_sqlite_misses_its_rows_once_not_row_by_row(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'notes.db'}"
    engine = create_engine(url, connect_args={"timeout": 0.01})
    write_notes(engine, ["a"] * 4)
    made, taken = commits(engine)
    with create_engine(url).connect() as service:
        service.exec_driver_sql("BEGIN IMMEDIATE")
        with pytest.raises(JobError, match="are locked by somebody"):
            made.commit(taken, BATCH)
        service.rollback()
    assert bodies(engine) == ["a"] * 4


class Plants(Capitals):
    """Row 1 becomes what the rule refuses, the others what they may."""

    def __init__(self, value: str | None) -> None:
        super().__init__()
        self.value = value

    def renew(self, rows: Sequence[RowMapping]) -> tuple[list[Change], list[Failed]]:
        changes, failed = super().renew(rows)
        return [c._replace(new=(self.value,)) if c.key == (1,) else c for c in changes], failed


def constrained(engine: Engine, rule: str) -> None:
    """SECRET-0 to SECRET-9 in small letters, and SECRET-TAKEN; body is varchar, for the index."""
    kind = {"unique": "UNIQUE", "check": "", "not null": "NOT NULL"}
    more = ", CONSTRAINT own_check CHECK (body <> 'SECRET-PLANTED')" if rule == "check" else ""
    with engine.begin() as connection:
        connection.exec_driver_sql(
            f"CREATE TABLE note (id INTEGER PRIMARY KEY, body VARCHAR(60) {kind[rule]}, owner INTEGER{more})"
        )
        bodies = [f"secret-{at}" for at in range(10)] + ["SECRET-PLANTED!" if rule == "check" else "SECRET-PLANTED"]
        connection.execute(insert(NOTES), [{"id": at, "body": body, "owner": 0} for at, body in enumerate(bodies)])


@pytest.mark.parametrize(
    ("rule", "value", "said"),
    [
        ("unique", "SECRET-PLANTED", "by a unique index"),
        ("check", "SECRET-PLANTED", "by a CHECK constraint (own_check)"),
        ("not null", None, "by a NOT NULL constraint"),
    ],
)
def test_a_row_that_the_database_refuses_is_listed_without_a_value_and_the_others_are_written(
    database_url: str, rule: str, value: str | None, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    engine = create_engine(database_url, hide_parameters=True)
    constrained(engine, rule)
    events: list[Event] = []
    tally = Job(Plants(value), engine, notify=events.append).run()
    assert (tally.rewritten, tally.failed, tally.outcome) == (9, 2 if rule == "check" else 1, JobState.INCOMPLETE)
    assert bodies(engine)[:10] == ["SECRET-0", "secret-1", *(f"SECRET-{at}" for at in range(2, 10))]
    with engine.connect() as connection:
        entries = [entry for entry in listed(connection) if entry["row_key"] == "[1]"]
    assert [entry["column_name"] for entry in entries] == ["body"]
    assert said in entries[0]["reason"]
    told = [event for event in events if isinstance(event, RowFailed) and event.key == "[1]"]
    assert {event.reason for event in told} == {entries[0]["reason"]}
    assert "secret" not in f"{events} {entries} {caplog.text}".lower().replace("secret-planted!", "")


PLANTED = "SECRET-" + "PLANTED"  # a traceback shows the lines of this file


class Breaks(WritesOneByOne):
    """Its statement fails with the row's value in the driver's text, which blames no row."""

    def write(self, connection: Connection, changes: Sequence[Change]) -> list[bool]:
        connection.exec_driver_sql(f"SELECT '{PLANTED}' FROM nowhere.to_be_found")
        raise AssertionError


def test_what_nobody_expected_says_its_number_alone_and_no_traceback_holds_a_value(engine: Engine) -> None:
    made, taken = commits(engine, Breaks(Capitals()))
    with pytest.raises(JobError) as caught:
        made.commit(taken, replace(BATCH, changes=[Change((0,), (PLANTED,), (PLANTED,))]))
    error: BaseException | None = caught.value
    assert error is not None
    assert (error.__cause__, error.__context__) == (None, None)
    assert PLANTED not in "".join(traceback.format_exception(error)) + repr(error)
    assert re.search(r"note: .*(SQLSTATE 42P01|error 1146|error 1049|error 1142|SQLITE_ERROR)", str(error))
