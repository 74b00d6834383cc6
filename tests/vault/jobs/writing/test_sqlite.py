"""SQLite: any column may hold any type, keys may be NULL, and one writer holds the database."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from sqlalchemy import Engine, LargeBinary, event
from sqlalchemy.types import JSON, Boolean, Date, DateTime, Float, Integer, Numeric, Text, Time, TypeEngine, Uuid

from tests.vault.jobs.writing.stored_rows import a_table, all_changed, database, read, write
from vault.jobs.change import Change
from vault.jobs.short_transaction import short_transaction
from vault.jobs.writing.choice import batch_writer


def statements_of(engine: Engine, changes: Sequence[Change]) -> list[str]:
    """What was sent, and that every change was made."""
    sent: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *arguments: sent.append(arguments[2]))
    assert all(write(engine, a_table("t"), changes))
    return [one.split()[0] for one in sent if one.split()[0] in {"SELECT", "WITH", "UPDATE"}]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with database(f"sqlite:///{tmp_path / 'rows.db'}") as engine:
        yield engine


def test_bytes_are_compared_where_they_are_set(engine: Engine) -> None:
    execute(engine, "CREATE TABLE t (id INTEGER PRIMARY KEY, c BLOB)")
    execute(engine, "INSERT INTO t VALUES (1, x'61'), (2, NULL)")
    assert statements_of(engine, [Change((1,), (b"a",), (b"b",)), Change((2,), (None,), (b"b",))]) == ["UPDATE"]


@pytest.mark.parametrize(
    "ddl", ["CREATE TABLE t (id INTEGER, c BLOB)", "CREATE TABLE t (a INTEGER, id, c BLOB, PRIMARY KEY (a, id))"]
)
def test_where_two_rows_may_have_a_key_they_are_read_first_and_left(engine: Engine, ddl: str) -> None:
    execute(engine, ddl)
    execute(engine, "INSERT INTO t (id, c) VALUES (1, x'61'), (1, x'61'), (2, x'61'), (3, x'62')")
    changes = [Change((at,), (b"a",), (b"new",)) for at in (1, 2, 3)]
    assert write(engine, a_table("t"), changes) == [False, True, False]


def test_a_text_where_bytes_were_read_is_not_the_same(engine: Engine) -> None:
    execute(engine, "CREATE TABLE t (id INTEGER PRIMARY KEY, c BLOB COLLATE NOCASE)")
    execute(engine, "INSERT INTO t VALUES (1, 'a'), (2, x'61')")
    assert write(engine, a_table("t"), [Change((at,), (b"a",), (b"new",)) for at in (1, 2)]) == [False, True]
    assert write(engine, a_table("t"), [Change((1,), ("A",), (b"new",))]) == [False], "NOCASE does not compare"


def execute(engine: Engine, statement: str) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(statement)


VALUES: dict[str, tuple[TypeEngine[object], str, str, str]] = {
    "case": (Text(), "TEXT COLLATE NOCASE", "'Bob'", "'bob'"),
    "trailing blank": (Text(), "TEXT COLLATE RTRIM", "'bob '", "'bob'"),
    "text of a number": (Text(), "BLOB", "'1'", "1"),
    "integer": (Integer(), "INTEGER", "1", "2"),
    "real for integer": (Integer(), "BLOB", "1", "1.0"),
    "zeros": (Float(), "BLOB", "0.0", "-1e-400"),
    "numeric": (Numeric(10, 2), "NUMERIC", "1", "1.25"),
    "boolean": (Boolean(), "BOOLEAN", "1", "0"),
    "date": (Date(), "DATE", "'2020-01-01'", "'2020-01-02'"),
    "form of a moment": (DateTime(), "DATETIME", "'2020-01-01 00:00:00.000000'", "'2020-01-01 00:00:00'"),
    "microsecond": (DateTime(), "DATETIME", "'2020-01-01 00:00:00.000001'", "'2020-01-01 00:00:00.000002'"),
    "time": (Time(), "TIME", "'12:00:00.000000'", "'12:00:00'"),
    "uuid": (Uuid(), "CHAR(32)", "'123e4567e89b12d3a456426655440000'", "'123E4567E89B12D3A456426655440000'"),
    "json": (JSON(), "JSON", "'{\"a\": 1}'", "'{\"a\":1}'"),
    "bytes": (LargeBinary(), "BLOB", "x'00'", "x'0000'"),
}


@pytest.mark.parametrize("case", VALUES)
def test_only_what_is_the_same_byte_for_byte_is_written(engine: Engine, case: str) -> None:
    kind, ddl, value, other = VALUES[case]
    execute(engine, f"CREATE TABLE t (id INTEGER PRIMARY KEY, v {ddl}, c BLOB)")
    execute(engine, f"INSERT INTO t (id, v) VALUES (1, {value}), (2, {value}), (3, NULL), (4, NULL)")
    table = a_table("t", v=kind, c=LargeBinary())
    rows = read(engine, table, ["v"])
    execute(engine, f"UPDATE t SET v = {other} WHERE id IN (2, 4)")
    made = write(engine, table, all_changed(rows, lambda _: (b"new",)), ["v"], ["c"])
    assert made == [True, False, True, False]


def test_a_key_that_holds_null_is_found_and_two_of_the_same_are_left(engine: Engine) -> None:
    execute(engine, "CREATE TABLE t (a INTEGER, b TEXT, c BLOB, PRIMARY KEY (a, b))")
    execute(engine, "INSERT INTO t VALUES (1, NULL, x'01'), (2, NULL, x'02'), (2, NULL, x'02'), (3, 'b', x'03')")
    table = a_table("t", ("a", "b"))
    changes = [Change((n, b), (bytes([n]),), (b"new",)) for n, b in ((1, None), (2, None), (3, "b"))]
    assert write(engine, table, changes) == [True, False, True]


def test_a_batch_is_found_by_the_key_s_index(engine: Engine) -> None:
    execute(engine, 'CREATE TABLE "a FROM b?" ("k:?" INTEGER, b TEXT, c BLOB, PRIMARY KEY ("k:?", b)) WITHOUT ROWID')
    execute(engine, "INSERT INTO \"a FROM b?\" VALUES (1, 'x', x'01'), (1, 'y', x'02')")
    table = a_table("a FROM b?", ("k:?", "b"))
    statements: list[str] = []
    with engine.connect() as connection:
        writer = batch_writer(connection, table, ["c"], ["c"])
    with short_transaction(engine, 1) as connection:
        driver = connection.connection.driver_connection
        assert driver is not None
        driver.set_trace_callback(statements.append)
        changes = [Change((at, "y"), (b"\x02",), (b"new",)) for at in (1, 9)]
        assert writer.write(connection, changes) == [True, False]
        driver.set_trace_callback(None)
        plans = [
            plan
            for statement in statements
            for *_, plan in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}").all()
        ]
    found = [plan for plan in plans if "a FROM b?" in plan]
    assert found == ["SEARCH a FROM b? USING PRIMARY KEY (k:?=? AND b=?)"] * 3, "set, set, and looked at"


def test_more_keys_than_one_statement_takes_go_in_several(engine: Engine) -> None:
    execute(engine, "CREATE TABLE t (id INTEGER PRIMARY KEY, c BLOB)")
    with engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO t VALUES (?, x'00')", [(number,) for number in range(2500)])
    table = a_table("t")
    assert write(engine, table, all_changed(read(engine, table, ["c"]), lambda _: (b"new",))) == [True] * 2500


def test_the_writing_transaction_is_begun_where_the_caller_has_not(engine: Engine) -> None:
    execute(engine, "CREATE TABLE t (id INTEGER PRIMARY KEY, c BLOB)")
    with engine.connect() as connection, engine.connect() as other:
        writer = batch_writer(connection, a_table("t"), ["c"], ["c"])
        writer.write(connection, [Change((1,), (b"",), (b"",))])
        other.exec_driver_sql("PRAGMA busy_timeout = 1")
        with pytest.raises(Exception, match="locked"):
            other.exec_driver_sql("BEGIN IMMEDIATE")
