"""Column pages against the rows that SQLAlchemy itself gives."""

import datetime as dt
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import (
    Boolean,
    Column,
    Date,
    DateTime,
    Engine,
    Enum,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    Select,
    String,
    Table,
    Uuid,
    create_engine,
    event,
    insert,
    select,
    text,
)
from sqlalchemy.exc import DBAPIError

from vault.rows.column_pages import PSYCOPG_BINARY, column_pages

KINDS: dict[str, Any] = {
    "id": Integer(),
    "flag": Boolean(),
    "real": Float(),
    "sealed": LargeBinary(),
    "own": Uuid(),
    "name": String(20),
    "colour": Enum("red", "green", name="colour"),
    "day": Date(),
    "moment": DateTime(),
}
IN_BINARY = ("id", "flag", "real", "sealed", "own")
THINGS = Table("thing", MetaData(), *(Column(name, kind) for name, kind in KINDS.items()))


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    made = create_engine(database_url)
    THINGS.create(made)
    with made.begin() as connection:
        connection.execute(insert(THINGS), [row(at) for at in range(25)])
    yield made
    made.dispose()


def row(at: int) -> dict[str, Any]:
    if at == 7:
        return {name: at if name == "id" else None for name in KINDS}
    moment = dt.datetime(2031, 1, 1, 2, 3, 4) + dt.timedelta(days=at)  # noqa: DTZ001  # without a zone, as the column is
    return {
        "id": at,
        "flag": at % 2 == 0,
        "real": at / 4 - 1,
        "sealed": bytes([at, 0, 255]) * at,
        "own": UUID(int=at),
        "name": f"ž{at}",
        "colour": ("red", "green")[at % 2],
        "day": moment.date(),
        "moment": moment,
    }


def pages(engine: Engine, statement: Select[Any], most_rows: int = 10) -> list[list[list[Any]]]:
    with engine.connect() as connection:
        return [[list(column) for column in page] for page in column_pages(connection, statement, most_rows)]


def columns_of(read: list[list[list[Any]]]) -> list[list[Any]]:
    return [[value for part in parts for value in part] for parts in zip(*read, strict=True)]


@pytest.mark.parametrize("names", [tuple(KINDS), IN_BINARY, ("name", "id"), ("colour",)])
def test_each_value_is_what_sqlalchemy_makes_of_it(engine: Engine, names: tuple[str, ...]) -> None:
    statement = select(*(THINGS.c[name] for name in names)).order_by(THINGS.c.id)
    read = pages(engine, statement)
    assert [len(page[0]) for page in read] == [10, 10, 5]
    assert columns_of(read) == [[row(at)[name] for at in range(25)] for name in names]
    for name, values in zip(names, columns_of(read), strict=True):
        assert {*map(type, values)} == {type(row(1)[name]), type(row(7)[name])}


def test_conditions_and_an_empty_answer(engine: Engine) -> None:
    some = select(THINGS.c.id).where(THINGS.c.id.in_([3, 4, 99]), THINGS.c.name != "ž4")
    assert pages(engine, some) == [[[3]]]
    assert pages(engine, some.where(THINGS.c.id > 3)) == []


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
@pytest.mark.postgres
@pytest.mark.parametrize(("names", "binary"), [(IN_BINARY, True), (("id", "colour"), False), (("name",), False)])
def test_what_the_driver_may_not_know_is_read_as_text(engine: Engine, names: tuple[str, ...], binary: bool) -> None:
    formats = []

    @event.listens_for(engine, "after_cursor_execute")
    def after(_connection: Any, cursor: Any, *_rest: Any) -> None:
        formats.append(cursor.format)

    pages(engine, select(*(THINGS.c[name] for name in names)))
    assert [one == PSYCOPG_BINARY for one in formats] == [binary]


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
@pytest.mark.postgres
@pytest.mark.parametrize("kind", ["numeric", "double precision", "text"])
def test_a_column_of_another_type_than_declared_is_what_sqlalchemy_makes_of_it(engine: Engine, kind: str) -> None:
    with engine.begin() as connection:
        connection.execute(text(f"ALTER TABLE thing ALTER COLUMN id TYPE {kind}"))
    statement = select(THINGS.c.id, THINGS.c.sealed)
    (ids, _) = columns_of(pages(engine, statement))
    with engine.connect() as connection:
        expected = list(connection.scalars(statement))
    assert [(type(one), one) for one in ids] == [(type(one), one) for one in expected]


def test_a_statement_that_fails_is_sqlalchemy_s_error(engine: Engine) -> None:
    with pytest.raises(DBAPIError):
        pages(engine, select(Column("nowhere", Integer)).select_from(THINGS))
