from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from tests.servers.databases import SERVERS
from vault.jobs.contention import was_ended_for_another


def refusal(url: str, *statements: str) -> DBAPIError:
    """What a second connection is told while the first one has changed the only row."""
    engine = create_engine(url)
    with engine.begin() as first:
        first.execute(text("CREATE TABLE t (x INTEGER PRIMARY KEY)"))
        first.execute(text("INSERT INTO t VALUES (1)"))
    with engine.connect() as first, engine.connect() as second:
        first.execute(text("UPDATE t SET x = 2"))
        *before, last = map(text, statements)
        for statement in before:
            second.execute(statement)
        with pytest.raises(DBAPIError) as caught:
            second.execute(last)
    engine.dispose()
    return caught.value


@pytest.mark.mariadb
def test_a_lock_that_was_not_had_on_mariadb_can_be_had_later(mariadb_url: str) -> None:
    wait = ("SET SESSION innodb_lock_wait_timeout = 1", "UPDATE t SET x = 3")
    assert was_ended_for_another(refusal(mariadb_url, *wait))


@pytest.mark.postgres
def test_a_lock_that_was_not_had_on_postgresql_can_be_had_later(postgres_url: str) -> None:
    assert was_ended_for_another(refusal(postgres_url, "SET LOCAL lock_timeout = 10", "UPDATE t SET x = 3"))


@pytest.mark.parametrize("server", SERVERS)
def test_any_other_error_comes_again(request: pytest.FixtureRequest, server: str) -> None:
    url = request.getfixturevalue(f"{server}_url")
    assert not was_ended_for_another(refusal(url, "SELECT nothing FROM t"))


def test_another_writer_on_sqlite_is_waited_for(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    with create_engine(url).begin() as first, create_engine(url, connect_args={"timeout": 0}).connect() as second:
        first.execute(text("CREATE TABLE t (x INTEGER PRIMARY KEY)"))
        first.execute(text("INSERT INTO t VALUES (1)"))
        with pytest.raises(DBAPIError) as caught:
            second.execute(text("INSERT INTO t VALUES (2)"))
    assert was_ended_for_another(caught.value)
