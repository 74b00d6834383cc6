"""MariaDB: keys and values of every type, locks that nobody waits for in a circle, columns that set themselves."""

import time
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, LargeBinary, event, text
from sqlalchemy.dialects.mysql import DOUBLE
from sqlalchemy.types import JSON, Boolean, Date, DateTime, Enum, Integer, Numeric, Text, Time, TypeEngine, Uuid

from tests.vault.jobs.writing.stored_rows import a_table, all_changed, database, read, write
from vault.jobs.change import Change
from vault.jobs.contention import was_ended_for_another
from vault.jobs.writing.stored_text import StoredText

pytestmark = pytest.mark.mariadb

KEYS = {
    "BIGINT": "VALUES (9007199254740993), (-2), (3)",
    "BIGINT UNSIGNED": "VALUES (18446744073709551615), (3)",
    "VARCHAR(20) COLLATE utf8mb4_bin": "VALUES ('a\\'\"\\\\b'), ('NULL'), ('é'), ('%%s')",
    "VARCHAR(20) COLLATE utf8mb4_general_ci": "VALUES ('Bob'), ('Ann')",
    "VARCHAR(20) CHARACTER SET latin1": "VALUES ('é'), ('b')",
    "VARBINARY(20)": "VALUES (x'00ff'), (x''), (x'5c22')",
    "BINARY(3)": "VALUES (x'000000'), (x'616263')",
    "DATE": "VALUES ('2020-01-01'), ('1000-01-01')",
    "DATETIME(6)": "VALUES ('2020-01-01 00:00:00.000001'), ('2020-01-01 00:00:00')",
    "TIMESTAMP(6)": "VALUES ('2020-01-01 00:00:00.000001'), ('2020-01-01 00:00:00')",
    "TIME(6)": "VALUES ('-12:00:00.000001'), ('838:59:59')",
    "DECIMAL(30,3)": "VALUES (1.5), (-0.001), (123456789012345678901234567.89)",
    "DOUBLE": "VALUES (0.1e0), (1e300), (-5e0)",
    "UUID": "VALUES ('123e4567-e89b-12d3-a456-426655440000'), ('123e4567-e89b-12d3-a456-426655440001')",
    "INET6": "VALUES ('::1'), ('ff00::')",
    "ENUM('sad', 'ok')": "VALUES ('sad'), ('ok')",
    "YEAR": "VALUES (1999), (2020)",
}


@pytest.fixture
def engine(mariadb_url: str) -> Iterator[Engine]:
    with database(mariadb_url) as engine:
        yield engine


def execute(engine: Engine, statement: str) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(statement)


@pytest.mark.parametrize("kind", KEYS)
def test_keys_of_every_type_find_their_rows(engine: Engine, kind: str) -> None:
    execute(engine, f"CREATE TABLE `k %% t` (`the: %% key` {kind} PRIMARY KEY, c LONGBLOB)")
    execute(engine, f"INSERT INTO `k %% t` (`the: %% key`) {KEYS[kind]}")
    execute(engine, "UPDATE `k %% t` SET c = 'old'")
    table = a_table("k % t", ("the: % key",))
    rows = list(read(engine, table, ["c"]))
    assert write(engine, table, [Change(key, (b"old",), (b"new",)) for key in rows[1:]]) == [True] * (len(rows) - 1)
    after = read(engine, table, ["c"])
    assert [after[key] for key in rows] == [(b"old",)] + [(b"new",)] * (len(rows) - 1)


def test_a_key_that_the_driver_reads_as_bytes_of_a_number_is_refused(engine: Engine) -> None:
    execute(engine, "CREATE TABLE t (id BIT(9) PRIMARY KEY, c BLOB)")
    with pytest.raises(Exception, match=r"t.id of type bit cannot be looked up"):
        write(engine, a_table("t"), [Change((b"\0\1",), (None,), (b"",))])


def test_a_batch_is_found_by_the_index_also_by_a_composite_key(engine: Engine) -> None:
    execute(engine, "CREATE TABLE t (a INT, b VARCHAR(20), c BLOB, PRIMARY KEY (a, b))")
    execute(engine, "INSERT INTO t SELECT seq DIV 100, seq, 'old' FROM seq_1_to_30000")
    table = a_table("t", ("a", "b"))
    rows = read(engine, table, ["c"])
    changes = [Change(key, rows[key], (b"new",)) for key in sorted(rows)[5000:10_000]]
    plans: list[tuple[object, ...]] = []

    def explain(connection: object, cursor: object, statement: str, parameters: object, *_: object) -> None:
        setting, found, rest = statement.partition(" FOR ")
        if found:
            cursor.execute(f"{setting} FOR EXPLAIN {rest}", parameters)  # type: ignore[attr-defined]
            plans.extend(cursor.fetchall())  # type: ignore[attr-defined]

    event.listen(engine, "before_cursor_execute", explain)
    made = write(engine, table, changes)
    event.remove(engine, "before_cursor_execute", explain)
    assert made == [True] * 5000
    assert {(plan[2], plan[3], plan[5]) for plan in plans if plan[2] == "t"} == {
        ("t", "range", "PRIMARY"),
        ("t", "eq_ref", "PRIMARY"),
    }


VALUES: dict[str, tuple[TypeEngine[object], str, str, str]] = {
    "case and blanks": (Text(), "VARCHAR(9) COLLATE utf8mb4_general_ci", "'bob '", "'Bob'"),
    "trailing blank": (Text(), "VARCHAR(9) COLLATE utf8mb4_general_ci", "'bob '", "'bob'"),
    "accent": (Text(), "TEXT COLLATE utf8mb4_unicode_ci", "'é'", "'e'"),
    "integer": (Integer(), "INT", "1", "2"),
    "boolean": (Boolean(), "BOOLEAN", "1", "2"),
    "decimal": (Numeric(10, 2), "DECIMAL(10,2)", "1.0", "1.01"),
    "double": (DOUBLE(asdecimal=False), "DOUBLE", "0.1", "0.10000000000000002"),
    "zero": (DOUBLE(asdecimal=False), "DOUBLE", "0", "-0e0 * 1"),
    "date": (Date(), "DATE", "'2020-01-01'", "'2020-01-02'"),
    "microsecond": (DateTime(), "DATETIME(6)", "'2020-01-01 00:00:00.000001'", "'2020-01-01 00:00:00.000002'"),
    "time": (Time(), "TIME(6)", "'12:00:00.000001'", "'12:00:00.000002'"),
    "uuid": (
        Uuid(),
        "UUID",
        "'123e4567-e89b-12d3-a456-426655440000'",
        "'123e4567-e89b-12d3-a456-426655440001'",
    ),
    "enum": (Enum("sad", "ok"), "ENUM('sad', 'ok')", "'sad'", "'ok'"),
    "json": (JSON(), "JSON", "'{\"a\": 1.0}'", "'{\"a\": 1.00}'"),
    "json as text": (StoredText(), "JSON", "'{\"a\":1.00}'", "'{\"a\": 1.00}'"),
    "bytes": (LargeBinary(), "BLOB", "x'00'", "x'0000'"),
    "large": (Text(), "LONGTEXT", "REPEAT('x', 3000000)", "CONCAT(REPEAT('x', 2999999), 'y')"),
}


@pytest.mark.parametrize("case", VALUES)
def test_only_what_is_the_same_byte_for_byte_is_written(engine: Engine, case: str) -> None:
    kind, ddl, value, other = VALUES[case]
    execute(engine, f"CREATE TABLE t (id INT PRIMARY KEY, v {ddl}, c BLOB)")
    execute(engine, f"INSERT INTO t VALUES (1, {value}, NULL), (2, {value}, NULL), (3, NULL, NULL), (4, NULL, NULL)")
    table = a_table("t", v=kind, c=LargeBinary())
    rows = read(engine, table, ["v"])
    execute(engine, f"UPDATE t SET v = {other} WHERE id IN (2, 4)")
    with engine.connect() as connection:
        stored = (
            connection.exec_driver_sql("SELECT HEX(CAST(v AS CHAR)) FROM t WHERE id < 3 ORDER BY id").scalars().all()
        )
    made = write(engine, table, all_changed(rows, lambda _: (b"new",)), ["v"], ["c"])
    assert made == [True, stored[0] == stored[1], True, False]


@pytest.mark.parametrize("case", VALUES)
def test_values_of_every_type_are_set_as_they_are(engine: Engine, case: str) -> None:
    kind, ddl, value, _ = VALUES[case]
    execute(engine, f"CREATE TABLE t (id INT PRIMARY KEY, v {ddl})")
    execute(engine, f"INSERT INTO t VALUES (1, {value}), (2, {value}), (3, NULL)")
    table = a_table("t", v=kind)
    (one,), (_,), (three,) = read(engine, table, ["v"]).values()
    assert write(engine, table, [Change((3,), (three,), (one,)), Change((2,), (one,), (None,))], ["v"], ["v"]) == [
        True,
        True,
    ]
    with engine.connect() as connection:
        after = connection.exec_driver_sql("SELECT HEX(CAST(v AS CHAR)) FROM t ORDER BY id").scalars().all()
    assert (after[2], after[1]) == (after[0], None)


def test_a_float_of_four_bytes_is_refused_before_anything_is_written(engine: Engine) -> None:
    execute(engine, "CREATE TABLE t (id INT PRIMARY KEY, v FLOAT, c BLOB)")
    table = a_table("t", v=DOUBLE(asdecimal=False), c=LargeBinary())
    with pytest.raises(Exception, match=r"t.v of type float is read with a loss"):
        write(engine, table, [], ["v"], ["c"])


def test_a_column_that_sets_itself_to_the_time_of_a_change_stays(engine: Engine) -> None:
    execute(
        engine,
        "CREATE TABLE t (id INT PRIMARY KEY, c BLOB, double_id INT AS (id * 2) STORED, updated_at TIMESTAMP(6)"
        " DEFAULT '2001-01-01' ON UPDATE CURRENT_TIMESTAMP(6))",
    )
    execute(engine, "INSERT INTO t (id, c) VALUES (1, 'old')")
    assert write(engine, a_table("t"), [Change((1,), (b"old",), (b"new",))]) == [True]
    with engine.connect() as connection:
        row = connection.execute(text("SELECT c, double_id, updated_at FROM t")).one()
    assert (row.c, row.double_id, row.updated_at.year) == (b"new", 2, 2001)


def test_the_session_is_as_before(engine: Engine) -> None:
    execute(engine, "CREATE TABLE t (id INT PRIMARY KEY, c BLOB)")
    write(engine, a_table("t"), [Change((1,), (b"",), (b"",))])
    with engine.connect() as connection:
        found = connection.exec_driver_sql("SELECT @@innodb_lock_wait_timeout, @@in_predicate_conversion_threshold")
        assert found.one() == (50, 1000)


def test_nobody_is_waited_for_while_rows_are_held(engine: Engine) -> None:
    """A service has inserted the term that the batch is to set: the batch ends, and the service does not."""
    execute(engine, "CREATE TABLE t (id INT PRIMARY KEY, c VARBINARY(40) UNIQUE)")
    execute(engine, "INSERT INTO t VALUES (1, 'old')")
    changes = [Change((1,), (b"old",), (b"taken",))]
    with engine.connect() as service:
        service.exec_driver_sql("INSERT INTO t VALUES (2, 'taken')")
        began = time.monotonic()
        with pytest.raises(Exception) as caught:
            write(engine, a_table("t"), changes, lock_seconds=60)
        assert time.monotonic() - began < 30
        assert was_ended_for_another(caught.value)  # type: ignore[arg-type]
        assert b"taken".hex() not in str(caught.value)
        service.rollback()
    assert write(engine, a_table("t"), changes) == [True]
