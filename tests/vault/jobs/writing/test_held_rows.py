"""What holds for every database: which rows are written, and which are left as they are."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, LargeBinary, Text, event

from tests.servers.databases import SERVERS
from tests.sizes import sized
from tests.vault.jobs.writing.stored_rows import a_table, all_changed, database, read, write
from vault.jobs.change import Change
from vault.jobs.short_transaction import short_transaction
from vault.jobs.writing.choice import batch_writer

BLOB = {"sqlite": "BLOB", "postgresql": "BYTEA", "mysql": "LONGBLOB"}
ROWS = 40
TABLE = a_table("t")


def fill(engine: Engine, rows: int = ROWS) -> None:
    blob = BLOB[engine.dialect.name]
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE TABLE t (id INTEGER PRIMARY KEY, c {blob}, other INTEGER DEFAULT 0)")
        for number in range(rows):
            connection.exec_driver_sql(
                f"INSERT INTO t (id, c) VALUES ({number}, {literal(engine, b'old %d' % number)})"
            )


def literal(engine: Engine, value: bytes) -> str:
    return f"'\\x{value.hex()}'" if engine.dialect.name == "postgresql" else f"x'{value.hex()}'"


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with database(database_url) as engine:
        fill(engine)
        yield engine


def execute(engine: Engine, statement: str) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(statement)


def test_every_row_that_is_as_it_was_read_is_written(engine: Engine) -> None:
    changes = all_changed(read(engine, TABLE, ["c"]), lambda number: (b"new %d" % number,))
    assert write(engine, TABLE, changes) == [True] * ROWS
    assert read(engine, TABLE, ["c"]) == {(number,): (b"new %d" % number,) for number in range(ROWS)}


def test_nothing_is_done_for_no_changes(engine: Engine) -> None:
    assert write(engine, TABLE, []) == []


def test_k12_01_what_a_service_changed_or_deleted_after_it_was_read_stays(engine: Engine) -> None:
    changes = all_changed(read(engine, TABLE, ["c"]), lambda number: (b"new %d" % number,))
    execute(engine, f"UPDATE t SET c = {literal(engine, b'of the service')} WHERE id = 7")
    execute(engine, "UPDATE t SET c = NULL WHERE id = 8")
    execute(engine, "DELETE FROM t WHERE id = 9")
    made = write(engine, TABLE, changes)
    assert [number for number, one in enumerate(made) if not one] == [7, 8, 9]
    after = read(engine, TABLE, ["c"])
    assert (after[7,], after[8,], (9,) in after) == ((b"of the service",), (None,), False)
    assert after[10,] == (b"new 10",)


def test_a_change_beside_what_is_compared_stays_and_the_row_is_written(engine: Engine) -> None:
    changes = all_changed(read(engine, TABLE, ["c"]), lambda _: (b"new",))
    execute(engine, "UPDATE t SET other = 5 WHERE id = 7")
    assert all(write(engine, TABLE, changes))
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT id, other FROM t WHERE other <> 0").all() == [(7, 5)]


def test_changes_may_come_in_any_order_and_from_anywhere_in_the_table(engine: Engine) -> None:
    rows = read(engine, TABLE, ["c"])
    changes = [Change((at,), rows[at,], (b"new",)) for at in (39, 0, 17, 3)]
    assert write(engine, TABLE, changes) == [True] * 4
    assert {key for (key,), (c,) in read(engine, TABLE, ["c"]).items() if c == b"new"} == {39, 0, 17, 3}


def test_null_is_a_value_in_both_directions(engine: Engine) -> None:
    execute(engine, "UPDATE t SET c = NULL WHERE id < 2")
    rows = read(engine, TABLE, ["c"])
    changes = [Change((0,), (None,), (b"new",)), Change((1,), (b"",), (b"new",)), Change((2,), rows[2,], (None,))]
    assert write(engine, TABLE, changes) == [True, False, True]
    after = read(engine, TABLE, ["c"])
    assert (after[0,], after[1,], after[2,]) == ((b"new",), (None,), (None,))


@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
def test_a_row_that_somebody_holds_is_left_to_them_without_waiting(engine: Engine) -> None:
    changes = all_changed(read(engine, TABLE, ["c"]), lambda _: (b"new",))
    with engine.connect() as service:
        service.exec_driver_sql("UPDATE t SET other = 1 WHERE id IN (3, 39)")
        made = write(engine, TABLE, changes)
        service.commit()
    assert [number for number, one in enumerate(made) if not one] == [3, 39]
    assert read(engine, TABLE, ["c"])[3,] == (b"old 3",)


@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
def test_what_is_held_is_not_changed_by_others_before_the_end(engine: Engine) -> None:
    with engine.connect() as connection:
        writer = batch_writer(connection, TABLE, ["c"], ["c"])
    changes = [Change((3,), (b"old 3",), (b"first",))]
    with short_transaction(engine, 1) as first:
        assert writer.write(first, changes) == [True]
        assert write(engine, TABLE, changes) == [False]
    assert read(engine, TABLE, ["c"])[3,] == (b"first",)


def quick_to_find_deadlocks(engine: Engine) -> None:
    """PostgreSQL looks for one after a second; MariaDB at once."""
    if engine.dialect.name == "postgresql":
        execute(engine, f"ALTER DATABASE {engine.url.database} SET deadlock_timeout = '10ms'")
        engine.dispose()


@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
def test_k12_10_a_service_with_row_5_gets_row_3_that_a_batch_holds(engine: Engine) -> None:
    quick_to_find_deadlocks(engine)
    with engine.connect() as connection:
        writer = batch_writer(connection, TABLE, ["c"], ["c"])
    changes = all_changed(read(engine, TABLE, ["c"]), lambda number: (b"old %d" % number,))
    with ThreadPoolExecutor(1) as threads, engine.connect() as service:
        for _ in range(200):
            service.exec_driver_sql("UPDATE t SET other = other + 1 WHERE id = 5")
            with short_transaction(engine, 10) as batch:
                made = writer.write(batch, changes)
                waiting = threads.submit(service.exec_driver_sql, "UPDATE t SET other = other + 1 WHERE id = 3")
                with pytest.raises(TimeoutError):
                    waiting.result(0.02)
            waiting.result(10)
            service.commit()
            assert [number for number, one in enumerate(made) if not one] == [5]
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT other FROM t WHERE id IN (3, 5)").scalars().all() == [200, 200]


@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
def test_k12_10_services_that_lock_from_the_other_end_at_full_speed_never_fail(engine: Engine) -> None:
    quick_to_find_deadlocks(engine)
    with engine.connect() as connection:
        writer = batch_writer(connection, TABLE, ["c"], ["c"])
    over = Event()

    def service() -> int:
        rounds = 0
        while not over.is_set():
            with engine.begin() as connection:
                for number in range(ROWS - 1, -1, -3):
                    connection.exec_driver_sql(f"UPDATE t SET other = other + 1 WHERE id = {number}")
            rounds += 1
        return rounds

    missed = number = 0
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(service)
        end = time.monotonic() + 60
        while number < 100 or (not missed and time.monotonic() < end):
            number += 1
            changes = all_changed(read(engine, TABLE, ["c"]), partial(numbered, number))
            with short_transaction(engine, 1) as connection:
                missed += len(changes) - sum(writer.write(connection, changes))
        over.set()
        rounds = running.result()
    assert missed > 0
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT other FROM t WHERE id = 0").scalar() == rounds


def numbered(batch: int, row: int) -> tuple[bytes]:
    return (b"of batch %d, row %d" % (batch, row),)


def test_large_values_go_in_several_statements(engine: Engine) -> None:
    with engine.connect() as connection:
        writer = batch_writer(connection, TABLE, ["c"], ["c"], most_bytes=100_000)
    changes = all_changed(read(engine, TABLE, ["c"]), lambda number: (bytes([number]) * 60_000,))
    statements: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *arguments: statements.append(arguments[2]))
    with short_transaction(engine, 1) as connection:
        assert all(writer.write(connection, changes))
    assert (
        sum(
            "UPDATE" in statement and " SET " in statement and "KEY UPDATE" not in statement for statement in statements
        )
        >= ROWS
    )
    assert read(engine, TABLE, ["c"])[39,] == (bytes([39]) * 60_000,)


LEAVES_OUT = {
    "sqlite": ["CREATE TRIGGER x BEFORE UPDATE ON t WHEN old.id % 2 BEGIN SELECT raise(IGNORE); END"],
    "postgresql": [
        "CREATE FUNCTION x() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN IF old.id % 2 = 1 THEN RETURN NULL; END IF; RETURN new; END'".replace("%", "%%"),
        "CREATE TRIGGER x BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION x()",
    ],
}


@pytest.mark.parametrize(
    "database_url", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True
)
def test_a_row_that_a_trigger_leaves_out_is_not_said_to_be_written(engine: Engine) -> None:
    for statement in LEAVES_OUT[engine.dialect.name]:
        execute(engine, statement)
    changes = all_changed(read(engine, TABLE, ["c"]), lambda _: (b"new",))
    assert write(engine, TABLE, changes) == [number % 2 == 0 for number in range(ROWS)]


def test_several_columns_are_compared_and_others_set(database_url: str) -> None:
    with database(database_url) as engine:
        blob = BLOB[engine.dialect.name]
        execute(engine, f"CREATE TABLE u (a INTEGER, b VARCHAR(9), x {blob}, y TEXT, z {blob}, PRIMARY KEY (a, b))")
        execute(engine, "INSERT INTO u (a, b, y) VALUES (1, 'p', 'one'), (1, 'q', 'two'), (2, 'p', 'three')")
        table = a_table("u", ("a", "b"), x=LargeBinary(), y=Text(), z=LargeBinary())
        rows = read(engine, table, ["x", "y"])
        execute(engine, "UPDATE u SET y = 'Two' WHERE b = 'q'")
        made = write(engine, table, all_changed(rows, lambda _: (b"z", "y")), ["x", "y"], ["z", "y"])
        assert made == [b != "q" for _, b in rows]
        assert read(engine, table, ["x", "y", "z"]) == {
            (1, "p"): (None, "y", b"z"),
            (1, "q"): (None, "Two", None),
            (2, "p"): (None, "y", b"z"),
        }


@settings(max_examples=sized(15, 40), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.one_of(st.none(), st.binary(max_size=5)), min_size=1, max_size=30), st.data())
def test_exactly_the_rows_that_are_as_they_were_read_are_written(
    tmp_path: Path, values: list[bytes | None], data: st.DataObject
) -> None:
    with database(f"sqlite:///{tmp_path / 'rows.db'}") as engine:
        execute(engine, "DROP TABLE IF EXISTS t")
        fill(engine, 0)
        now = data.draw(st.lists(st.sampled_from(values), min_size=len(values), max_size=len(values)))
        with engine.begin() as connection:
            connection.exec_driver_sql("INSERT INTO t (id, c) VALUES (?, ?)", list(enumerate(now)))
        changes = [Change((number,), (value,), (b"a new value",)) for number, value in enumerate(values)]
        made = write(engine, TABLE, changes)
        assert made == [was == held for was, held in zip(values, now, strict=True)]
        assert read(engine, TABLE, ["c"]) == {
            (number,): (b"a new value" if one else now[number],) for number, one in enumerate(made)
        }
