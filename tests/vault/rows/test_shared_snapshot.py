"""Several connections that read what was there at one moment."""

import pytest
from sqlalchemy import Engine, create_engine, text

from vault.rows.shared_snapshot import NO_SNAPSHOT, reading_snapshot, shared_snapshot


def made(url: str) -> Engine:
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE t (a INTEGER)"))
        connection.execute(text("INSERT INTO t VALUES (1)"))
    return engine


@pytest.mark.postgres
def test_on_postgresql_it_is_of_the_moment_when_it_was_shared(postgres_url: str) -> None:
    engine = made(postgres_url)
    with shared_snapshot(engine) as name:
        with engine.begin() as connection:
            connection.execute(text("INSERT INTO t VALUES (2)"))
        with reading_snapshot(engine, name) as connection:
            assert list(connection.scalars(text("SELECT a FROM t"))) == [1]
        with reading_snapshot(engine, NO_SNAPSHOT) as connection:
            assert list(connection.scalars(text("SELECT a FROM t ORDER BY a"))) == [1, 2]
    with pytest.raises(ValueError, match="no name"), reading_snapshot(engine, "'; DROP TABLE t; --"):
        pass


@pytest.mark.parametrize("database_url", ["sqlite", "mariadb"], indirect=True)
def test_elsewhere_there_is_none(database_url: str) -> None:
    engine = made(database_url)
    with shared_snapshot(engine) as name, reading_snapshot(engine, name) as connection:
        assert name == NO_SNAPSHOT
        assert list(connection.scalars(text("SELECT a FROM t"))) == [1]
