"""The trigger that refuses a value without the new place, made, kept and dropped on three databases."""

import threading
import time
from collections.abc import Iterator

import pytest
from sqlalchemy import (
    Column,
    Engine,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    create_engine,
    insert,
    text,
    update,
)
from sqlalchemy.exc import DBAPIError

from vault.changeover.guard import Guard, drop_guard, is_guarded, make_guard, wait_for_writers
from vault.errors import ChangeoverError

metadata = MetaData()
person = Table(
    "person",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("city", String(20)),
    Column("name", LargeBinary(40)),
    Column("name_bidx_b", LargeBinary(40)),
)
GUARD = Guard(None, "person", ("name",), "name_bidx_b")


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = create_engine(database_url)
    metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(insert(person), [{"id": 1, "name": b"sealed", "city": "Bonn"}])
    yield engine
    engine.dispose()


def test_a_value_without_the_place_is_refused_and_nothing_else(engine: Engine) -> None:
    for _ in range(2):  # again: it is there
        make_guard(engine, GUARD)
    assert is_guarded(engine, GUARD)
    with engine.connect() as connection:
        for refused in (
            insert(person).values(id=2, name=b"sealed"),
            update(person).values(name=b"other"),
        ):
            with pytest.raises(DBAPIError, match="noisevault: a value without its term in person"), connection.begin():
                connection.execute(refused)
    with engine.begin() as connection:
        connection.execute(insert(person).values(id=3, name=b"sealed", name_bidx_b=b"term"))
        connection.execute(insert(person).values(id=4))
        connection.execute(update(person).where(person.c.id == 1).values(city="Ulm"))  # a row from before goes on
        connection.execute(update(person).where(person.c.id == 1).values(name_bidx_b=b"term"))
    with pytest.raises(DBAPIError), engine.begin() as connection:
        connection.execute(update(person).where(person.c.id == 1).values(name_bidx_b=None))
    for _ in range(2):
        drop_guard(engine, GUARD)
    assert not is_guarded(engine, GUARD)
    with engine.begin() as connection:
        connection.execute(insert(person).values(id=5, name=b"sealed"))


@pytest.mark.parametrize("name", ["a%b", "a%sb's", "%(n)s"])
def test_a_table_may_have_any_name(database_url: str, name: str) -> None:
    engine = create_engine(database_url)
    odd = Table(name, MetaData(), Column("id", Integer), Column("v %s", Integer), Column("t'%", LargeBinary(9)))
    odd.create(engine)
    guarded = Guard(None, name, ("v %s",), "t'%")
    make_guard(engine, guarded)
    assert is_guarded(engine, guarded)
    with pytest.raises(DBAPIError, match="noisevault: a value without its term"), engine.begin() as connection:
        connection.execute(insert(odd), {"v %s": 1})
    drop_guard(engine, guarded)
    assert not is_guarded(engine, guarded)


def test_all_parts_of_an_index_over_several_columns_have_to_be_there(engine: Engine) -> None:
    make_guard(engine, Guard(None, "person", ("name", "city"), "name_bidx_b"))
    with engine.begin() as connection:
        connection.execute(insert(person).values(id=2, name=b"sealed"))
    with pytest.raises(DBAPIError), engine.begin() as connection:
        connection.execute(insert(person).values(id=3, name=b"sealed", city="Ulm"))


@pytest.mark.parametrize("waits", ["make_guard", "wait_for_writers"])
def test_making_it_waits_for_transactions_that_have_written(engine: Engine, waits: str) -> None:
    made = threading.Event()

    def make() -> None:
        if waits == "make_guard":
            make_guard(engine, GUARD)
        else:
            wait_for_writers(engine, None, "person")
        made.set()

    with engine.connect() as connection, connection.begin():
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        connection.execute(insert(person).values(id=2, name=b"sealed"))
        thread = threading.Thread(target=make)
        thread.start()
        time.sleep(0.3)
        assert not made.is_set()
    thread.join(30)
    assert made.is_set()
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT COUNT(*) FROM person WHERE name_bidx_b IS NULL")) == 2


@pytest.mark.postgres
def test_on_postgresql_it_judges_what_a_replica_applies_too(postgres_url: str) -> None:
    engine = create_engine(postgres_url)
    metadata.create_all(engine)
    make_guard(engine, GUARD)
    with engine.connect() as connection:
        connection.exec_driver_sql("SET session_replication_role = replica")
        with pytest.raises(DBAPIError, match="without its term"):
            connection.execute(insert(person).values(id=2, name=b"sealed"))


@pytest.mark.postgres
def test_a_role_without_the_right_is_told_what_its_owner_runs(postgres_url: str) -> None:
    engine = create_engine(postgres_url)
    metadata.create_all(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP ROLE IF EXISTS poor")
        connection.exec_driver_sql("CREATE ROLE poor")
        connection.exec_driver_sql("GRANT SELECT, INSERT, UPDATE ON person TO poor")
    poor = create_engine(postgres_url, connect_args={"options": "-c role=poor"})
    with pytest.raises(ChangeoverError, match="may not make a trigger on person") as raised:
        make_guard(poor, GUARD)
    _, *statements = str(raised.value).split("\n")
    with engine.begin() as connection:
        for statement in "\n".join(statements).split(";\n"):
            connection.exec_driver_sql(statement)
    make_guard(engine, GUARD)
    assert is_guarded(engine, GUARD)
    poor.dispose()
    engine.dispose()
    with create_engine(postgres_url).begin() as connection:
        connection.exec_driver_sql("DROP OWNED BY poor")
        connection.exec_driver_sql("DROP ROLE poor")
