"""Rows that cannot be read as they are declared are found and told without their value; the others are done."""

import traceback
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine
from sqlalchemy.types import Date, Enum, Text, TypeEngine

from tests.vault.jobs.test_compared import BLOB, Marks
from vault.errors import JobError
from vault.jobs.engine import Job
from vault.jobs.events import Event, RowFailed
from vault.jobs.job_store import JobState
from vault.jobs.quarantine import listed

SECRET = "9" * 4 + "-SECRET"


def fill(engine: Engine, ddl: str, good: str, bad: str, rows: int = 20) -> None:
    with engine.begin() as connection:
        blob = BLOB[engine.dialect.name]
        connection.exec_driver_sql(f"CREATE TABLE t (id INTEGER PRIMARY KEY, v {ddl}, done {blob})")
        for at in range(rows):
            connection.exec_driver_sql(f"INSERT INTO t (id, v) VALUES ({at}, '{bad if at in {3, 19} else good}')")


def check(url: str, declared: TypeEngine[Any], ddl: str, good: str, bad: str) -> None:
    engine = create_engine(url)
    fill(engine, ddl, good, bad)
    events: list[Event] = []
    job = Job(Marks(declared, lambda: None), engine, notify=events.append)
    assert (job.rehearse().rewritten, job.rehearse().failed) == (18, 2)
    tally = job.run()
    assert (tally.rewritten, tally.failed, tally.outcome) == (18, 2, JobState.INCOMPLETE)
    with engine.connect() as connection:
        entries = listed(connection)
    assert [(entry["row_key"], entry["column_name"]) for entry in entries] == [("[19]", "v"), ("[3]", "v")]
    assert bad not in f"{events} {entries}"
    assert {event.key for event in events if isinstance(event, RowFailed)} == {"[3]", "[19]"}


def test_a_label_that_the_enum_has_not_is_told_and_the_others_are_done(database_url: str) -> None:
    check(database_url, Enum("good", "fine", native_enum=False), "VARCHAR(20)", "good", SECRET)


def test_a_text_that_is_no_date_is_told(tmp_path: Path) -> None:
    check(f"sqlite:///{tmp_path / 'rows.db'}", Date(), "TEXT", "2020-01-01", SECRET)


def test_bytes_that_are_no_text_are_told(tmp_path: Path) -> None:
    check(f"sqlite:///{tmp_path / 'rows.db'}", Text(), "TEXT", "good", "' || CAST(x'ff' AS TEXT) || '")


@pytest.mark.postgres
def test_a_date_that_python_has_not_is_told(postgres_url: str) -> None:
    check(postgres_url, Date(), "date", "2020-01-01", "15432-01-02")


def test_a_refused_page_is_no_row_s_fault_and_holds_no_value(database_url: str) -> None:
    engine = create_engine(database_url)
    fill(engine, "VARCHAR(20)", "good", SECRET)
    job = Job(Marks(Date(), lambda: None), engine)
    with engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE t RENAME COLUMN v TO w")
    with pytest.raises(JobError) as caught:
        job.rehearse()
    assert SECRET not in "".join(traceback.format_exception(caught.value))
