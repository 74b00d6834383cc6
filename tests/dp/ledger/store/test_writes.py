"""Writes: each touches as many rows as it must, or nothing is written; several of them go in one turn if they can."""

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any, cast

import pytest
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    bindparam,
    create_engine,
    event,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from dp.errors import LedgerError
from dp.ledger.store.writes import Write, require_same, write

metadata = MetaData()
here = Table(
    "here",
    metadata,
    Column("name", String(20), primary_key=True),
    Column("n", BigInteger),
    Column("sealed", LargeBinary),
    Column("none", Integer),
)
there = Table("there", metadata, Column("name", String(20), primary_key=True), Column("n", BigInteger))
PUT = insert(here)
# Of the same name as a parameter of ADD, and with a value that is the statement's own.
OF_TWO = (there.c.n < bindparam("more"), there.c.name != "c")
TO_BOTH = update(there).where(*OF_TWO).values(n=there.c.n + bindparam("n_more"))
ADD = update(here).where(here.c.name == bindparam("of_name")).values(n=here.c.n + bindparam("more"))
BOTH = ("public", "budgets")
ROW = {"name": "a%b", "n": 2**62, "sealed": b"\x00\xff%s", "none": None}


@pytest.fixture
def connection(engine: Engine) -> Iterator[Connection]:
    metadata.create_all(engine)
    with engine.connect() as connection:
        connection.execute(insert(there), [{"name": name, "n": 1} for name in "abc"])
        yield connection
        connection.rollback()


def rows(connection: Connection, table: Table) -> list[tuple[object, ...]]:
    return [tuple(row) for row in connection.execute(select(table).order_by(table.c.name))]


def test_each_has_its_own_values_though_their_names_are_the_same(connection: Connection) -> None:
    write(connection, [Write(PUT, ROW)])
    write(
        connection,
        [
            Write(ADD, {"of_name": "a%b", "more": 5}),
            Write(TO_BOTH, {"more": 2, "n_more": 10}, rows=2),
            Write(PUT, {**ROW, "name": "b"}),
        ],
    )
    assert rows(connection, here) == [("a%b", 2**62 + 5, b"\x00\xff%s", None), ("b", 2**62, b"\x00\xff%s", None)]
    assert rows(connection, there) == [("a", 11), ("b", 11), ("c", 1)]


@pytest.mark.parametrize("first", [Write(PUT, ROW), None], ids=["with another", "alone"])
@pytest.mark.parametrize("rows", [1, 3])
def test_one_that_touches_another_number_of_rows_is_an_error(
    connection: Connection, first: Write | None, rows: int
) -> None:
    wrong = Write(TO_BOTH, {"more": 2, "n_more": 10}, rows=rows)
    with pytest.raises(LedgerError, match="did not lock the audit's head"):
        write(connection, [wrong] if first is None else [first, wrong])


def test_postgresql_and_mariadb_are_sent_one_statement(connection: Connection) -> None:
    sent: list[str] = []
    event.listen(connection, "before_cursor_execute", lambda _c, _k, sql, *_: sent.append(sql))
    write(connection, [Write(PUT, ROW), Write(TO_BOTH, {"more": 2, "n_more": 10}, rows=2)])
    assert len(sent) == (2 if connection.dialect.name == "sqlite" else 1)


@pytest.mark.parametrize("rows", [2, 3])
def test_the_drivers_connection_is_left_as_it_was(postgres_url: str, rows: int) -> None:
    engine = create_engine(postgres_url)
    metadata.create_all(engine)
    with engine.connect() as connection:
        connection.execute(insert(there), [{"name": name, "n": 1} for name in "abc"])
        driver = cast("Any", connection.connection.driver_connection)
        before = driver.cursor_factory
        with nullcontext() if rows == 2 else pytest.raises(LedgerError):
            write(connection, [Write(PUT, ROW), Write(TO_BOTH, {"more": 2, "n_more": 10}, rows=rows)])
        assert driver.cursor_factory is before
        with pytest.raises(IntegrityError):
            write(connection, [Write(PUT, ROW), Write(PUT, ROW)])
        assert driver.cursor_factory is before
    engine.dispose()


def test_it_is_written_into_the_schema_that_the_engine_translates_to(postgres_url: str) -> None:
    plain = create_engine(postgres_url)
    translating = plain.execution_options(schema_translate_map={None: "budgets"})
    with translating.begin() as connection:
        connection.exec_driver_sql("CREATE SCHEMA budgets")
        metadata.create_all(connection)
        write(connection, [Write(PUT, ROW)])
        write(connection, [Write(PUT, {**ROW, "name": "b"}), Write(ADD, {"of_name": "a%b", "more": 5})])
    metadata.create_all(plain)
    with plain.begin() as connection:
        write(connection, [Write(PUT, {**ROW, "name": "c"})])
        names = [connection.exec_driver_sql(f"SELECT name FROM {schema}.here").scalars().all() for schema in BOTH]
    assert names == [["c"], ["b", "a%b"]]
    plain.dispose()


def test_nothing_is_written_of_nothing(connection: Connection) -> None:
    write(connection, [])
    assert rows(connection, here) == []


def test_only_what_is_as_it_was_is_fine() -> None:
    require_same(True)
    with pytest.raises(LedgerError, match="did not lock the audit's head"):
        require_same(False)
