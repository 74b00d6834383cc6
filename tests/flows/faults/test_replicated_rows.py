"""PostgreSQL logical replication: a row by a retired key is refused where it arrives, and is not lost."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, create_engine, func, insert, make_url, select, text

from tests.servers.postgres import fresh_database
from tests.vault.projects import write_policy
from vault.policy import Policy
from vault.retirement.refused_keys import refuse_keys, refused_keys
from vault.rows.raw_table import raw_table
from vault.schema import tables

OLD, NEW = bytes.fromhex("9692ad97"), bytes.fromhex("11111111")
WITHIN_SECONDS = 30

pytestmark = pytest.mark.postgres


def visit(person: int, key_id: bytes) -> dict[str, object]:
    return {"person": person, "year": 1, "site": 1, "diagnosis": b"\x01\x00" + key_id + bytes(30)}


def run(engine: Engine, *statements: str) -> None:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for statement in statements:
            connection.execute(text(statement))


@contextmanager
def replicated(publisher: Engine, subscriber: Engine) -> Iterator[None]:
    """The rows of visit go from one database to the other, of one server, from now on."""
    url = publisher.url
    address = f"host={url.query['host']} dbname={url.database} user={url.username}"
    run(publisher, "CREATE PUBLICATION rows FOR TABLE visit")
    run(publisher, "SELECT pg_create_logical_replication_slot('rows', 'pgoutput')")
    how = "WITH (create_slot = false, slot_name = 'rows', copy_data = false)"
    run(subscriber, f"CREATE SUBSCRIPTION rows CONNECTION '{address}' PUBLICATION rows {how}")
    try:
        yield
    finally:
        run(subscriber, "ALTER SUBSCRIPTION rows DISABLE", "ALTER SUBSCRIPTION rows SET (slot_name = NONE)")
        run(subscriber, "DROP SUBSCRIPTION rows")
        wait_for(publisher, "SELECT NOT active FROM pg_replication_slots WHERE slot_name = 'rows'")
        run(publisher, "SELECT pg_drop_replication_slot('rows')")


def wait_for(engine: Engine, question: str) -> None:
    end = time.monotonic() + WITHIN_SECONDS
    while True:
        with engine.connect() as connection:
            if connection.execute(text(question)).scalar():
                return
        assert time.monotonic() < end, question
        time.sleep(0.1)


def persons(connection: Connection) -> int:
    return int(connection.execute(text("SELECT count(*) FROM visit")).scalar_one())


def test_a_row_by_a_retired_key_that_is_replicated_is_refused(
    tmp_path: Path, postgres_url: str, postgres_server_url: str
) -> None:
    table = tables(Policy.load(write_policy(tmp_path, postgres_url))).tables["visit"]
    raw = raw_table(table)
    with fresh_database(postgres_server_url) as other:
        publisher, subscriber = create_engine(postgres_url), create_engine(other)
        assert "host" in make_url(postgres_url).query
        for engine in (publisher, subscriber):
            table.create(engine)
        with replicated(publisher, subscriber):
            with publisher.begin() as connection:
                connection.execute(insert(raw), [visit(1, OLD)])
            wait_for(subscriber, "SELECT count(*) = 1 FROM visit")  # it does replicate
            with subscriber.begin() as connection:
                connection.execute(raw.update().values(diagnosis=visit(1, NEW)["diagnosis"]))
            refuse_keys(subscriber, table, [OLD])
            assert refused_keys(subscriber, table) == {OLD}
            with publisher.begin() as connection:
                connection.execute(insert(raw), [visit(2, OLD)])
            wait_for(subscriber, "SELECT apply_error_count > 0 FROM pg_stat_subscription_stats")
            with subscriber.connect() as connection:
                assert connection.scalars(select(raw.c.person)).all() == [1]
            with publisher.connect() as connection:
                there = connection.scalar(select(func.count()).where(raw.c.person == 2))
            assert there == 1, "where it came from, it is"
        publisher.dispose()
        subscriber.dispose()


def test_an_ordinary_trigger_would_let_it_in(tmp_path: Path, postgres_url: str, postgres_server_url: str) -> None:
    """What ENABLE ALWAYS is for."""
    table = tables(Policy.load(write_policy(tmp_path, postgres_url))).tables["visit"]
    raw = raw_table(table)
    with fresh_database(postgres_server_url) as other:
        publisher, subscriber = create_engine(postgres_url), create_engine(other)
        for engine in (publisher, subscriber):
            table.create(engine)
        with replicated(publisher, subscriber):
            refuse_keys(subscriber, table, [OLD])
            run(subscriber, "ALTER TABLE visit DISABLE TRIGGER ALL", "ALTER TABLE visit ENABLE TRIGGER ALL")
            with publisher.begin() as connection:
                connection.execute(insert(raw), [visit(2, OLD)])
            wait_for(subscriber, "SELECT count(*) = 1 FROM visit")
        publisher.dispose()
        subscriber.dispose()
