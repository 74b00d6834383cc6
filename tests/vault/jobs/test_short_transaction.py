import time

import pytest
from sqlalchemy import create_engine, insert, text
from sqlalchemy.exc import DBAPIError

from tests.servers.databases import SERVERS
from tests.vault.jobs.plain_work import NOTES, bodies, write_notes
from vault.jobs.contention import was_ended_for_another
from vault.jobs.short_transaction import short_transaction


def test_what_is_written_is_committed_and_nothing_of_what_failed(database_url: str) -> None:
    engine = create_engine(database_url)
    write_notes(engine, ["a"])
    with short_transaction(engine, 1) as connection:
        connection.execute(insert(NOTES).values(id=1, body="b"))
    with pytest.raises(DBAPIError), short_transaction(engine, 1) as connection:
        connection.execute(insert(NOTES), [{"id": at, "body": "c"} for at in (2, 3, 2)])
    assert bodies(engine) == ["a", "b"]


@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
def test_it_waits_for_a_lock_no_longer_than_it_was_told_and_leaves_the_connection_as_it_was(database_url: str) -> None:
    engine, service = create_engine(database_url, pool_size=1, max_overflow=0), create_engine(database_url)
    write_notes(engine, ["a"])
    asked = {"postgresql": "SHOW lock_timeout", "mysql": "SELECT @@innodb_lock_wait_timeout"}[engine.dialect.name]
    with engine.connect() as connection:
        before = connection.scalar(text(asked))
    with service.begin() as holding:
        holding.execute(text("UPDATE note SET body = 'held'"))
        began = time.monotonic()
        with pytest.raises(DBAPIError) as caught, short_transaction(engine, 1) as connection:
            connection.execute(text("UPDATE note SET body = 'mine'"))
    assert was_ended_for_another(caught.value)
    assert time.monotonic() - began < 10
    with engine.connect() as connection:
        assert connection.scalar(text(asked)) == before


def test_sqlite_has_the_one_writer_s_lock_from_the_beginning(tmp_path: object) -> None:
    engine = create_engine(f"sqlite:///{tmp_path}/x.db", connect_args={"timeout": 0})
    write_notes(engine, ["a"])
    with short_transaction(engine, 1), pytest.raises(DBAPIError) as caught, short_transaction(engine, 1):
        pass
    assert was_ended_for_another(caught.value)
