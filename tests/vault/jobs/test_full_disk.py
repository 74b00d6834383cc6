"""A database that may not grow is told from one that refuses; really full disks are in tests/flows/faults."""

from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from vault.errors import JobError
from vault.jobs.full_disk import is_full_disk
from vault.jobs.outage import Outage


def test_a_database_without_room_ends_a_job_with_what_to_do_and_quotes_no_row(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'small.db'}")

    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE t (x)"))

    def write() -> None:
        with engine.begin() as connection:
            connection.execute(text("PRAGMA max_page_count = 10"))
            connection.execute(text("INSERT INTO t VALUES (:x)"), {"x": "hunter2" * 10_000})

    with pytest.raises(DBAPIError) as full:
        write()
    assert is_full_disk(full.value)
    with pytest.raises(JobError, match="no room; what was written so far stays: make room, and go on") as caught:
        Outage(60).outlast(write)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_a_statement_that_is_wrong_is_no_full_disk() -> None:
    with create_engine("sqlite://").connect() as connection, pytest.raises(DBAPIError) as wrong:
        connection.execute(text("SELECT nothing"))
    assert not is_full_disk(wrong.value)
