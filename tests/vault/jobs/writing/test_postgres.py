"""PostgreSQL: keys and values of every type, plans that do not grow, locks that nobody waits for in a circle."""

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from psycopg import ClientCursor
from sqlalchemy import Engine, LargeBinary, create_engine, event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.types import (
    ARRAY,
    Boolean,
    Date,
    DateTime,
    Enum,
    Float,
    Integer,
    Numeric,
    Text,
    Time,
    TypeEngine,
    Uuid,
)

from tests.vault.jobs.writing.stored_rows import a_table, all_changed, database, read, write
from vault.jobs.change import Change
from vault.jobs.contention import ran_out_of_time, was_ended_for_another
from vault.jobs.short_transaction import short_transaction
from vault.jobs.writing.choice import batch_writer
from vault.jobs.writing.stored_text import StoredText

pytestmark = pytest.mark.postgres

DDL = (
    'CREATE SCHEMA "Other: Schema"',
    "CREATE TYPE \"Other: Schema\".\"Mood\" AS ENUM ('sad', 'a,\"b\\', 'ok')",
    "CREATE DOMAIN zip AS varchar(5) CHECK (length(value) > 1)",
    "CREATE DOMAIN zipper AS zip",
    "CREATE COLLATION nocase (provider = builtin, locale = 'C.UTF-8')",
)
KEYS = {
    "smallint": "VALUES (1), (-2), (3)",
    "bigint": "VALUES (9007199254740993), (-2), (3)",
    "uuid": "SELECT gen_random_uuid() FROM generate_series(1, 3)",
    'text COLLATE "C"': "VALUES ('a,\"b\\'), ('{NULL}'), ('NULL'), (''), ('é')",
    "varchar(9) COLLATE nocase": "VALUES ('b'), ('B'), ('a')",
    "char(4)": "VALUES ('a'), ('ab'), ('abcd')",
    "bytea": "VALUES ('\\x00ff'::bytea), ('\\x'::bytea), ('\\x5c22'::bytea)",
    "date": "VALUES ('2020-01-01'::date), ('0001-01-01'::date)",
    "timestamptz": "VALUES ('2020-01-01 00:00:00.000001+03'::timestamptz), ('1999-01-01'::timestamptz)",
    "time": "VALUES ('12:00:00.000001'::time), ('00:00'::time)",
    "numeric": "VALUES (1.50), (-0.001), (123456789012345678901234567890)",
    "double precision": "VALUES (0.1::float8), (1e300), (-5)",
    "boolean": "VALUES (true), (false)",
    '"Other: Schema"."Mood"': 'SELECT unnest(enum_range(NULL::"Other: Schema"."Mood"))',
    "zipper": "VALUES ('12345'), ('ab')",
    "integer[]": "VALUES ('{1,2}'::int[]), ('{{1},{2}}'::int[]), ('{}'::int[])",
    "inet": "VALUES ('10.0.0.1'::inet), ('10.0.0.0/8'::inet)",
}


@pytest.fixture
def engine(postgres_url: str) -> Iterator[Engine]:
    with database(postgres_url, *DDL) as engine:
        yield engine


def execute(engine: Engine, statement: str) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(statement)


@pytest.mark.parametrize("kind", KEYS)
def test_keys_of_every_type_find_their_rows(engine: Engine, kind: str) -> None:
    execute(engine, f'CREATE TABLE "Other: Schema"."k %% t" ("the: %% key" {kind} PRIMARY KEY, c bytea)')
    execute(engine, f'INSERT INTO "Other: Schema"."k %% t" SELECT k, \'old\' FROM ({KEYS[kind]}) AS v (k)')
    table = a_table("k % t", ("the: % key",), schema="Other: Schema", c=LargeBinary())
    with engine.connect() as connection:
        rows = connection.execute(table.select().order_by(text("1"))).all()
    changes = [Change(tuple(row[:1]), (b"old",), (b"%d" % number,)) for number, row in enumerate(rows)]
    assert write(engine, table, changes[1:]) == [True] * (len(changes) - 1)
    with engine.connect() as connection:
        after = connection.execute(table.select().order_by(text("1"))).all()
    assert [c for _, c in after] == [b"old", *(b"%d" % number for number in range(1, len(rows)))]


def test_a_composite_key_of_several_types_finds_its_row(engine: Engine) -> None:
    execute(
        engine, 'CREATE TABLE k (a int, b text, d date, m "Other: Schema"."Mood", c bytea, PRIMARY KEY (a, b, d, m))'
    )
    execute(
        engine,
        "INSERT INTO k SELECT a, b, d, 'ok', 'old' FROM generate_series(1, 3) AS a, (VALUES ('x'), ('y')) AS b (b),"
        " (VALUES ('2020-01-01'::date), ('2021-01-01')) AS d (d)",
    )
    table = a_table("k", ("a", "b", "d", "m"))
    rows = read(engine, table, ["c"])
    execute(engine, "UPDATE k SET c = 'of a service' WHERE a = 2 AND b = 'x'")
    made = write(engine, table, all_changed(rows, lambda _: (b"new",)))
    assert made == [key[:2] != (2, "x") for key in rows]


# Declared type, DDL, what was read, and what SQL finds equal to it or Python does, though it is not the same.
VALUES: dict[str, tuple[TypeEngine[object], str, str, str]] = {
    "float8 zeros": (Float(), "float8", "'-0'", "'0'"),
    "float4": (Float(), "float4", "0.1", "0.2"),
    "numeric scale": (Numeric(), "numeric", "1.0", "1.00"),
    "text case": (Text(), "text", "'Bob'", "'bob '"),
    "char": (Text(), "char(5)", "'a'", "'b'"),
    "boolean": (Boolean(), "boolean", "true", "NULL"),
    "date": (Date(), "date", "'2020-01-01'", "'2020-01-02'"),
    "microsecond": (DateTime(), "timestamp", "'2020-01-01 00:00:00.000001'", "'2020-01-01 00:00:00.000002'"),
    "with zone": (DateTime(timezone=True), "timestamptz", "'2020-01-01+00'", "'2020-01-01 00:00:00.000001+00'"),
    "time with zone": (Time(timezone=True), "timetz", "'12:00+01'", "'11:00+00'"),
    "uuid": (Uuid(), "uuid", "'123e4567-e89b-12d3-a456-426655440000'", "'123e4567-e89b-12d3-a456-426655440001'"),
    "enum": (Enum("sad", "ok"), '"Other: Schema"."Mood"', "'sad'", "'ok'"),
    "integer": (Integer(), "int", "1", "2"),
    "array": (ARRAY(Numeric()), "numeric[]", "'{1.0,NULL}'", "'{1.00,NULL}'"),
    "array of arrays": (ARRAY(Integer(), dimensions=2), "int[]", "'{{1,2},{3,4}}'", "'{{1,2},{3,5}}'"),
    "json as text": (StoredText(), "json", "'{\"a\": 1}'", "'{\"a\":1}'"),
    "jsonb as text": (StoredText(), "jsonb", "'{\"a\": 1.0}'", "'{\"a\": 1.00}'"),
    "interval as text": (StoredText(), "interval", "'1 month'", "'30 days'"),
    "domain": (Text(), "zipper", "'ab'", "'AB'"),
    "large": (Text(), "text", "repeat('x', 3000000)", "repeat('x', 2999999) || 'y'"),
}


@pytest.mark.parametrize("case", VALUES)
def test_only_what_is_the_same_byte_for_byte_is_written(engine: Engine, case: str) -> None:
    kind, ddl, value, other = VALUES[case]
    execute(engine, f"CREATE TABLE t (id int PRIMARY KEY, v {ddl}, c bytea)")
    execute(engine, f"INSERT INTO t VALUES (1, {value}), (2, {value}), (3, NULL), (4, NULL)".replace("%", "%%"))
    table = a_table("t", v=kind, c=LargeBinary())
    rows = read(engine, table, ["v"])
    execute(engine, f"UPDATE t SET v = {other} WHERE id IN (2, 4)".replace("%", "%%"))
    made = write(engine, table, all_changed(rows, lambda _: (b"new",)), ["v"], ["c"])
    assert made == [True, False, True, other == "NULL"]


@pytest.mark.parametrize("case", VALUES)
def test_values_of_every_type_are_set_as_they_are(engine: Engine, case: str) -> None:
    kind, ddl, value, other = VALUES[case]
    execute(engine, f"CREATE TABLE t (id int PRIMARY KEY, v {ddl})")
    execute(engine, f"INSERT INTO t VALUES (1, {value}), (2, {other}), (3, NULL)".replace("%", "%%"))
    table = a_table("t", v=kind)
    (one,), (two,), (three,) = read(engine, table, ["v"]).values()
    changes = [Change((1,), (one,), (two,)), Change((2,), (two,), (one,)), Change((3,), (three,), (one,))]
    with engine.connect() as connection:
        before = connection.exec_driver_sql("SELECT v::text FROM t ORDER BY id").scalars().all()
    assert write(engine, table, changes, ["v"], ["v"]) == [True] * 3
    with engine.connect() as connection:
        after = connection.exec_driver_sql("SELECT v::text FROM t ORDER BY id").scalars().all()
    assert after == [before[1], before[0], before[0]]


@pytest.mark.parametrize("rows", [2_000, 40_000])
def test_each_row_of_a_batch_is_found_by_the_index_whatever_the_size_of_the_table(engine: Engine, rows: int) -> None:
    execute(engine, "CREATE TABLE t (id int PRIMARY KEY, c bytea)")
    execute(engine, f"INSERT INTO t SELECT i, 'old' FROM generate_series(1, {rows}) AS i")
    execute(engine, "ANALYZE t")
    table = a_table("t")
    plans: list[str] = []

    def explain(connection: object, cursor: object, statement: str, parameters: object, *_: object) -> None:
        if "unnest" in statement or "FOR NO KEY UPDATE" in statement:
            cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS) {statement}", parameters)  # type: ignore[attr-defined]
            plans.append("\n".join(line for (line,) in cursor.fetchall()))  # type: ignore[attr-defined]

    changes = [Change((number,), (b"old",), (b"new",)) for number in range(rows - 999, rows + 1)]
    event.listen(engine, "before_cursor_execute", explain)
    made = write(engine, table, changes)
    event.remove(engine, "before_cursor_execute", explain)
    assert made == [True] * 1000
    assert len(plans) == 2
    assert all("Seq Scan" not in plan and "Index" in plan for plan in plans)
    assert all("Rows Removed" not in plan for plan in plans)


def test_the_planner_is_as_before_after_the_transaction(engine: Engine) -> None:
    execute(engine, "CREATE TABLE t (id int PRIMARY KEY, c bytea)")
    assert write(engine, a_table("t"), [Change((1,), (b"",), (b"",))]) == [False]
    with engine.connect() as connection:
        for setting, value in {"enable_hashjoin": "on", "lock_timeout": "0", "plan_cache_mode": "auto"}.items():
            assert connection.exec_driver_sql(f"SHOW {setting}").scalar() == value


def test_a_row_that_a_child_row_refers_to_just_now_is_written(engine: Engine) -> None:
    """A service that inserts a child holds its parent's key, which re-encryption does not touch."""
    execute(engine, "CREATE TABLE t (id int PRIMARY KEY, c bytea)")
    execute(engine, "CREATE TABLE child (of int REFERENCES t)")
    execute(engine, "INSERT INTO t VALUES (1, 'old')")
    with engine.connect() as service:
        service.exec_driver_sql("INSERT INTO child VALUES (1)")
        assert write(engine, a_table("t"), [Change((1,), (b"old",), (b"new",))]) == [True]
        service.commit()


def test_a_wait_for_a_unique_index_is_short_and_the_batch_can_be_tried_again(engine: Engine) -> None:
    execute(engine, "CREATE TABLE t (id int PRIMARY KEY, c bytea UNIQUE)")
    execute(engine, "INSERT INTO t VALUES (1, 'old')")
    changes = [Change((1,), (b"old",), (b"taken",))]
    with engine.connect() as service:
        service.exec_driver_sql("INSERT INTO t VALUES (2, 'taken')")
        began = time.monotonic()
        with pytest.raises(Exception) as caught:
            write(engine, a_table("t"), changes, lock_seconds=60)
        assert was_ended_for_another(caught.value)  # type: ignore[arg-type]
        assert time.monotonic() - began < 30
        service.rollback()
    assert write(engine, a_table("t"), changes) == [True]


def test_a_service_that_waits_for_the_batch_is_not_the_victim_when_the_batch_waits_for_it(engine: Engine) -> None:
    """The last row meets the service's value after 70 ms, while the service looks for a deadlock at 100."""
    execute(engine, "CREATE TABLE t (id int PRIMARY KEY, c bytea UNIQUE, other int DEFAULT 0)")
    execute(engine, "INSERT INTO t SELECT i, i::text::bytea FROM generate_series(1, 7) AS i")
    execute(
        engine,
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.01); RETURN new; END'",
    )
    execute(engine, "CREATE TRIGGER slow BEFORE UPDATE OF c ON t FOR EACH ROW EXECUTE FUNCTION slow()")
    execute(engine, f"ALTER DATABASE {engine.url.database} SET deadlock_timeout = '100ms'")
    engine.dispose()
    changes = [Change((at,), (b"%d" % at,), (b"taken" if at == 7 else b"new %d" % at,)) for at in range(1, 8)]
    waiting: list[Future[object]] = []

    def held(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if "SKIP LOCKED" in statement:
            waiting.append(threads.submit(service.exec_driver_sql, "UPDATE t SET other = 1 WHERE id = 1"))

    with ThreadPoolExecutor(1) as threads, create_engine(engine.url).connect() as service:
        service.exec_driver_sql("INSERT INTO t VALUES (100, 'taken')")
        event.listen(engine, "after_cursor_execute", held)
        with pytest.raises(DBAPIError) as caught:
            write(engine, a_table("t"), changes, lock_seconds=60)
        assert was_ended_for_another(caught.value) or ran_out_of_time(caught.value)
        waiting[0].result(10)
        service.rollback()
    event.remove(engine, "after_cursor_execute", held)


def test_what_comes_after_a_batch_has_all_the_time(engine: Engine) -> None:
    execute(engine, "CREATE TABLE t (id int PRIMARY KEY, c bytea UNIQUE)")
    execute(engine, "INSERT INTO t VALUES (1, 'old')")
    table = a_table("t")
    with engine.connect() as connection:
        writer = batch_writer(connection, table, ["c"], ["c"])
    with short_transaction(engine, 1) as connection:
        assert writer.write(connection, [Change((1,), (b"old",), (b"new",))]) == [True]
        assert connection.exec_driver_sql("SHOW statement_timeout").scalar() == "0"


def test_partitions_are_written_each_in_its_own(engine: Engine) -> None:
    execute(engine, "CREATE TABLE t (id int PRIMARY KEY, c bytea) PARTITION BY RANGE (id)")
    for number in range(4):
        execute(
            engine, f"CREATE TABLE t{number} PARTITION OF t FOR VALUES FROM ({number * 10}) TO ({number * 10 + 10})"
        )
    execute(engine, "INSERT INTO t SELECT i, 'old' FROM generate_series(0, 39) AS i")
    table = a_table("t")
    rows = read(engine, table, ["c"])
    execute(engine, "UPDATE t SET c = 'of a service' WHERE id = 17")
    assert write(engine, table, all_changed(rows, lambda _: (b"new",))) == [key != (17,) for key in rows]


@pytest.mark.parametrize("bound_by_the_client", [False, True])
def test_cursors_that_put_values_into_the_statement_write_too(engine: Engine, bound_by_the_client: bool) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (id INTEGER PRIMARY KEY, c BYTEA)")
        connection.exec_driver_sql(
            "INSERT INTO t SELECT n, decode(repeat('ab', mod(n, 5)), 'hex') FROM generate_series(1, 20) n"
        )
    rows = read(engine, a_table("t"), ["c"])
    own = {"cursor_factory": ClientCursor} if bound_by_the_client else {}
    other = create_engine(engine.url, connect_args=own)
    assert all(write(other, a_table("t"), all_changed(rows, lambda number: (b"\x00'%s\\" * number,))))
    assert [*read(engine, a_table("t"), ["c"]).values()] == [(b"\x00'%s\\" * number,) for number in range(20)]
    other.dispose()
