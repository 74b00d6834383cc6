"""A prepared transaction holds a row that no scan sees: it is waited for, then told, where there are such."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, Table, create_engine

from tests.vault.projects import write_policy
from vault.errors import KeyInUseError
from vault.policy import Policy
from vault.retirement.prepared_transactions import wait_for_prepared
from vault.retirement.refused_keys import refuse_keys
from vault.rows.key_uses import values_under
from vault.schema import tables

OLD = bytes.fromhex("9692ad97")


@pytest.fixture
def table(tmp_path: Path, database_url: str) -> Table:
    return tables(Policy.load(write_policy(tmp_path, database_url))).tables["visit"]


@pytest.fixture
def engine(table: Table, database_url: str) -> Iterator[Engine]:
    engine = create_engine(database_url)
    table.create(engine)
    yield engine
    engine.dispose()


def test_nothing_is_waited_for_where_nothing_is_prepared(engine: Engine) -> None:
    wait_for_prepared(engine, patience=0)


def _execute(engine: Engine, *statements: str) -> None:
    with engine.connect() as connection:
        driver: Any = connection.connection.dbapi_connection
        driver.autocommit(True)  # else XA COMMIT finds itself in a transaction
        with driver.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
        connection.invalidate()  # the client goes; what it prepared stays


@pytest.mark.mariadb
def test_on_mariadb_where_no_trigger_waits_for_it(tmp_path: Path, mariadb_url: str) -> None:
    table = tables(Policy.load(write_policy(tmp_path, mariadb_url))).tables["visit"]
    engine = create_engine(mariadb_url)
    table.create(engine)
    stored = (b"\x01\x00" + OLD + bytes(30)).hex()
    written = f"INSERT INTO visit (person, year, site, diagnosis) VALUES (1, 1, 1, x'{stored}')"
    _execute(engine, "XA START 'late'", written, "XA END 'late'", "XA PREPARE 'late'")
    refuse_keys(engine, table, [OLD], patience=5)  # is made at once
    assert values_under(engine, [table], OLD) == [], "the scan sees nothing"
    with pytest.raises(KeyInUseError, match=r"1 transactions are prepared \(XA\) .* XA COMMIT or XA ROLLBACK"):
        wait_for_prepared(engine, patience=0)
    timer = threading.Timer(1, lambda: _execute(engine, "XA COMMIT 'late'"))
    timer.start()
    wait_for_prepared(engine, patience=30)
    timer.join()
    (found,) = values_under(engine, [table], OLD)
    assert found.count == 1, "then it is seen"
    engine.dispose()


@pytest.mark.postgres
def test_on_postgresql_the_trigger_waits_for_it(tmp_path: Path, postgres_url: str) -> None:
    table = tables(Policy.load(write_policy(tmp_path, postgres_url))).tables["visit"]
    engine = create_engine(postgres_url)
    table.create(engine)
    stored = (b"\x01\x00" + OLD + bytes(30)).hex()
    with engine.connect() as connection:
        connection.exec_driver_sql(f"INSERT INTO visit (person, year, site, diagnosis) VALUES (1, 1, 1, '\\x{stored}')")
        connection.exec_driver_sql("PREPARE TRANSACTION 'late'")
    with pytest.raises(KeyInUseError, match=r"has held visit for 1 s: .* pg_prepared_xacts"):
        refuse_keys(engine, table, [OLD], patience=1)
    with engine.connect() as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql("COMMIT PREPARED 'late'")
    refuse_keys(engine, table, [OLD])
    (found,) = values_under(engine, [table], OLD)
    assert found.count == 1
    engine.dispose()
