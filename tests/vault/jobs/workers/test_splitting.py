"""Ranges that are cut at sampled keys: whatever the key is, each row is in one of them, and most are of one size."""

import secrets
from datetime import date, datetime
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import (
    BigInteger,
    Column,
    Date,
    DateTime,
    Engine,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    String,
    Table,
    Uuid,
    create_engine,
    func,
    insert,
    select,
    types,
)

from tests.sizes import sized
from vault.jobs.walking.key_pages import key_of, page_statement, within
from vault.jobs.walking.key_range import WHOLE, KeyRange
from vault.jobs.walking.stored_key import job_table
from vault.jobs.workers import splitting
from vault.jobs.workers.splitting import evenly, split

pytestmark = pytest.mark.databases_in_turn

KINDS: dict[str, tuple[list[types.TypeEngine[Any]], st.SearchStrategy[Any]]] = {
    "int": ([BigInteger()], st.integers(-(2**63), 2**63 - 1)),
    "text": ([String(20)], st.text(st.characters(codec="ascii", min_codepoint=33), min_size=1, max_size=20)),
    "bytes": ([LargeBinary(12).with_variant(types.VARBINARY(12), "mysql", "mariadb")], st.binary(max_size=12)),
    "uuid": ([Uuid()], st.uuids()),
    "decimal": (
        [Numeric(12, 3).with_variant(String(20), "sqlite")],
        st.decimals(-(10**8), 10**8, places=3, allow_nan=False),
    ),
    "date": ([Date()], st.dates(date(1970, 1, 2), date(2037, 1, 1))),
    "moment": (
        [DateTime().with_variant(types.DateTime(), "mysql")],
        st.datetimes(datetime(1970, 1, 2), datetime(2037, 1, 1)).map(lambda moment: moment.replace(microsecond=0)),  # noqa: DTZ001
    ),
    "two columns": ([Integer(), String(5)], st.tuples(st.integers(-5, 5), st.text("abcAB", min_size=1, max_size=5))),
}
number = count()


@pytest.fixture
def engine(database_url: str) -> Engine:
    return create_engine(database_url)


def filled(engine: Engine, kinds: list[types.TypeEngine[Any]], keys: list[Any]) -> Table:
    """A fresh table with those keys; what the database takes for the same key stands once."""
    names = [f"k{at}" for at in range(len(kinds))]
    table = Table(
        f"t{next(number)}_{secrets.token_hex(4)}",
        MetaData(),
        *(Column(n, k, primary_key=True, autoincrement=False) for n, k in zip(names, kinds, strict=True)),
    )
    table.create(engine)
    rows = [dict(zip(names, key if isinstance(key, tuple) else (key,), strict=True)) for key in keys]
    with engine.begin() as connection:
        for row in rows:
            with connection.begin_nested() as one:
                try:
                    connection.execute(insert(table), row)
                except Exception:
                    one.rollback()
    return job_table(table)


def keys_in(engine: Engine, table: Table, key_range: KeyRange) -> list[Any]:
    with engine.connect() as connection:
        statement = page_statement(table, (), key_range, 10_000, engine.dialect.name)
        return [key_of(table, row) for row in connection.execute(statement).mappings()]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=sized(4, 8), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_each_row_is_in_one_range_whatever_its_key(engine: Engine, kind: str, data: st.DataObject) -> None:
    kinds, values = KINDS[kind]
    keys = data.draw(st.lists(values, min_size=1, max_size=40, unique=True))
    table = filled(engine, kinds, keys[: len(keys) // 2 + 1])
    ranges = data.draw(st.integers(1, 7))
    total = len(keys_in(engine, table, WHOLE))
    cut = split(engine, table, WHOLE, total, ranges)
    assert len(cut) <= ranges
    assert (cut[0].after, cut[-1].up_to) == (None, None)
    with engine.begin() as connection:  # and rows that come later, also before the first key and after the last
        for key in keys[len(keys) // 2 + 1 :]:
            with connection.begin_nested() as one:
                try:
                    row = key if isinstance(key, tuple) else (key,)
                    connection.execute(
                        _declared(table, kinds).insert().values(dict(zip(table.c.keys(), row, strict=True)))
                    )
                except Exception:
                    one.rollback()
    found = [key for one in cut for key in keys_in(engine, table, one)]
    assert found == keys_in(engine, table, WHOLE)
    _declared(table, kinds).drop(engine)


def _declared(table: Table, kinds: list[types.TypeEngine[Any]]) -> Table:
    columns = (Column(c.name, k, primary_key=True) for c, k in zip(table.c, kinds, strict=True))
    return Table(table.name, MetaData(), *columns)


def test_ranges_are_of_one_size_for_the_most_part(engine: Engine) -> None:
    table = Table("many", MetaData(), Column("id", Integer, primary_key=True, autoincrement=False))
    table.create(engine)
    with engine.begin() as connection:
        connection.execute(insert(table), [{"id": at * at} for at in range(10_000)])
    raw = job_table(table)
    cut = split(engine, raw, WHOLE, 10_000, 8)
    assert len(cut) == 8
    with engine.connect() as connection:
        sizes = [
            connection.scalar(select(func.count()).select_from(raw).where(*within(raw, one, engine.dialect.name)))
            for one in cut
        ]
    assert sum(size or 0 for size in sizes) == 10_000
    assert all(250 < (size or 0) < 3_500 for size in sizes), sizes


@pytest.mark.postgres
def test_of_a_large_table_pages_are_picked(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = create_engine(postgres_url)
    table = Table("many", MetaData(), Column("id", Integer, primary_key=True), Column("note", String))
    table.create(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO many SELECT n, repeat('x', 100) FROM generate_series(1, 20000) n")
    monkeypatch.setattr(splitting, "ROWS_FOR_PAGES", 20_000)
    monkeypatch.setattr(splitting, "is_picked", None)  # the other way is not gone
    cut = split(engine, job_table(table), WHOLE, 20_000, 4)
    assert 2 <= len(cut) <= 4


def test_a_part_of_a_range_stays_within_it(engine: Engine) -> None:
    table = Table("some", MetaData(), Column("id", Integer, primary_key=True, autoincrement=False))
    table.create(engine)
    with engine.begin() as connection:
        connection.execute(insert(table), [{"id": at} for at in range(300)])
    cut = split(engine, job_table(table), KeyRange((100,), (200,)), 100, 4)
    assert (cut[0].after, cut[-1].up_to) == ((100,), (200,))
    assert all(100 < one.up_to[0] <= 200 for one in cut if one.up_to)


@given(keys=st.lists(st.integers(), unique=True).map(sorted), ranges=st.integers(1, 20))
def test_cuts_are_keys_in_order_and_never_too_many(keys: list[int], ranges: int) -> None:
    cuts = evenly([(key,) for key in keys], ranges)
    assert cuts == sorted(set(cuts))
    assert len(cuts) < ranges or ranges == 1
    assert {cut[0] for cut in cuts} <= set(keys)


def test_a_key_without_a_text_is_not_cut_at(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    class Odd:
        pass

    monkeypatch.setattr(splitting, "_picked", lambda *_: [(Odd(),), (Odd(),)])
    table = Table("any", MetaData(), Column("id", Integer, primary_key=True))
    assert split(engine, job_table(table), WHOLE, 100, 2) == [WHOLE]
