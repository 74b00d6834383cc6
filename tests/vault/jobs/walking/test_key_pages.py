"""The walk over keys of every kind, on each database, while rows come, go and change."""

import random
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import (
    BigInteger,
    Column,
    Date,
    DateTime,
    Engine,
    Enum,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    String,
    Table,
    Uuid,
    create_engine,
    delete,
    insert,
    text,
    update,
)
from sqlalchemy.dialects.mysql import VARBINARY, VARCHAR
from sqlalchemy.types import TypeEngine

from vault.jobs.walking.key_pages import key_of, keys_of, page_statement
from vault.jobs.walking.key_range import WHOLE, KeyRange
from vault.jobs.walking.stored_key import as_declared, job_table

PLACES = Table("place", MetaData(), Column("a", Integer, primary_key=True), Column("b", String, primary_key=True))


def pages(engine: Engine, table: Table, rows: int, at: KeyRange = WHOLE) -> Iterator[list[tuple[Any, ...]]]:
    """The keys of each page, until one is empty; at most 1,000 pages, for one that would be read for ever."""
    stored = job_table(table)
    for _ in range(1000):
        with engine.connect() as connection:
            statement = page_statement(stored, [], at, rows, engine.dialect.name)
            rows_read = connection.execute(statement).mappings().all()
        page = keys_of(stored, rows_read)
        assert page == [key_of(stored, row) for row in rows_read]
        if not page:
            return
        yield page
        at = KeyRange(page[-1], at.up_to)
    raise AssertionError("the walk has no end")


def walked(engine: Engine, table: Table, rows: int, at: KeyRange = WHOLE) -> list[tuple[Any, ...]]:
    return [key for page in pages(engine, table, rows, at) for key in page]


@settings(deadline=None)
@given(st.sets(st.tuples(st.integers(-3, 3), st.text("abc", max_size=2))), st.integers(1, 7), st.data())
def test_every_row_comes_once_in_key_order_and_ranges_meet_without_a_gap(
    keys: set[tuple[int, str]], rows: int, data: st.DataObject
) -> None:
    engine = create_engine("sqlite://")
    PLACES.metadata.create_all(engine)
    if keys:
        with engine.begin() as connection:
            connection.execute(insert(PLACES), [{"a": a, "b": b} for a, b in keys])
    assert walked(engine, PLACES, rows) == sorted(keys)
    if keys:
        cut = data.draw(st.sampled_from(sorted(keys)))
        first = walked(engine, PLACES, rows, KeyRange(None, cut))
        assert first + walked(engine, PLACES, rows, KeyRange(cut, None)) == sorted(keys)
        assert first[-1] == cut
    engine.dispose()


KEY = st.integers(0, 30)
ACT = st.one_of(st.tuples(st.just("insert"), KEY), st.tuples(st.just("delete"), KEY), st.tuples(st.just("move"), KEY))


@settings(deadline=None)
@given(st.sets(KEY), st.integers(1, 5), st.lists(st.lists(ACT, max_size=4), max_size=20))
def test_whatever_comes_and_goes_meanwhile_a_row_that_stays_comes_once(
    keys: set[int], rows: int, acts: Sequence[list[tuple[str, int]]]
) -> None:
    """acts: what services do after each page; a move gives a row another key."""
    engine = create_engine("sqlite://")
    table = Table("t", MetaData(), Column("id", Integer, primary_key=True, autoincrement=False))
    table.metadata.create_all(engine)
    there = set(keys)
    with engine.begin() as connection:
        for key in keys:
            connection.execute(insert(table).values(id=key))
    stayed, seen = set(keys), []
    left = iter(acts)
    for page in pages(engine, table, rows):
        seen += [key for (key,) in page]
        for act, key in next(left, []):
            with engine.begin() as connection:
                if act == "insert" and key not in there:
                    connection.execute(insert(table).values(id=key))
                    there.add(key)
                elif act == "delete" and key in there:
                    connection.execute(delete(table).where(table.c.id == key))
                    there.discard(key)
                    stayed.discard(key)
                elif act == "move" and key in there and key + 100 not in there:
                    connection.execute(update(table).where(table.c.id == key).values(id=key + 100))
                    there = (there - {key}) | {key + 100}
                    stayed.discard(key)
    assert len(seen) == len(set(seen)), "a row came twice"
    assert stayed <= set(seen)
    engine.dispose()


def _text(length: int, collation: dict[str, str] | None = None) -> TypeEngine[Any]:
    """collation: by dialect."""
    kind: TypeEngine[Any] = String(length)
    for dialect, name in (collation or {}).items():
        exact = VARCHAR(length, charset="utf8mb4", collation=name) if dialect == "mysql" else String(length, name)
        kind = kind.with_variant(exact, *(("mysql", "mariadb") if dialect == "mysql" else (dialect,)))
    return kind


WORDS = [
    "a",
    "B",
    "c",
    "Ç",
    "ca",
    "Zoë",
    "zoa",
    "ö",
    "oz",
    "e\u0301a",
    "éb",
    "x y",
    "x-y",
    "xy",
    "10",
    "9",
    "ß",
    "ss t",
    "",
]
MIDNIGHT = datetime(2026, 3, 1)  # noqa: DTZ001  # as a column without time zone holds it
UUIDS = [UUID(int=random.Random(n).getrandbits(128), version=4) for n in range(40)]
DECIMALS = [Decimal(n) / 7 for n in range(-20, 20)] + [Decimal("0.1"), Decimal("1234567890.0123456789")]
OCTETS = [bytes([n, 255 - n]) for n in range(40)] + [b"", b"\0", b"'\\"]
KINDS: dict[str, tuple[TypeEngine[Any], list[Any]]] = {
    "int": (BigInteger(), [-(2**40), -1, 0, 1, 2**62, *range(5, 90, 7)]),
    "uuid": (Uuid(), UUIDS),
    "decimal": (Numeric(20, 10), DECIMALS),
    "bytes": (LargeBinary(8).with_variant(VARBINARY(8), "mysql", "mariadb"), OCTETS),
    "date": (Date(), [date(2024, 2, 28) + timedelta(days=n) for n in range(30)]),
    "datetime": (DateTime(), [MIDNIGHT + timedelta(seconds=n) for n in range(30)]),
    "enum": (Enum("late", "early", "noon", "evening", name="kind"), ["late", "early", "noon", "evening"]),
    "text": (_text(20), WORDS),
    "text of a locale": (_text(20, {"postgresql": "pg_unicode_fast", "mysql": "utf8mb4_swedish_ci"}), WORDS),
    "text without case": (_text(20, {"mysql": "utf8mb4_unicode_ci", "sqlite": "NOCASE"}), WORDS),
}


def _apart(words: Sequence[str]) -> list[str]:
    """Of words that a collation without case, accents and blanks at the end takes for one another, the first."""
    kept: dict[str, str] = {}
    for word in words:
        letters = unicodedata.normalize("NFD", word.casefold()).rstrip()
        kept.setdefault("".join(letter for letter in letters if not unicodedata.combining(letter)), word)
    return list(kept.values())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("composite", [False, True], ids=["alone", "behind a number"])
def test_keys_of_every_kind_come_once_each(database_url: str, kind: str, composite: bool) -> None:
    declared, values = KINDS[kind]
    engine = create_engine(database_url)
    first = [Column("tenant", Integer, primary_key=True, autoincrement=False)] if composite else []
    table = Table(
        "t", MetaData(), *first, Column("k", declared, primary_key=True, autoincrement=False), Column("n", Integer)
    )
    table.metadata.create_all(engine)
    if kind.startswith("text"):
        values = _apart(values)
    shuffled = random.Random(1).sample(values, len(values))
    rows: list[dict[str, Any]] = [{"k": value, "n": at} for at, value in enumerate(shuffled)]
    if composite:
        rows = [row | {"tenant": tenant} for tenant in (1, 2) for row in rows]
    with engine.begin() as connection:
        connection.execute(insert(table), rows)
    for size in (1, 3, len(rows), len(rows) + 1):
        seen = walked(engine, table, size)
        assert len(seen) == len(set(seen)) == len(rows)
    middle = seen[len(seen) // 2]
    assert walked(engine, table, 3, KeyRange(None, middle)) + walked(engine, table, 3, KeyRange(middle)) == seen
    stored = job_table(table)
    with engine.begin() as connection:  # a row is found again by the key that was read
        for key in seen:
            same = [column == value for column, value in zip(stored.primary_key.columns, key, strict=True)]
            assert connection.execute(update(stored).where(*same).values(n=-1)).rowcount == 1


PLANS = {
    "sqlite": ("EXPLAIN QUERY PLAN", "(a,b)>(?,?)"),
    "postgresql": ("EXPLAIN", "Index Cond: (ROW(a, b) > ROW"),
    "mysql": ("EXPLAIN", "range"),
}


def test_a_page_of_a_composite_key_is_read_from_the_index_where_it_begins(database_url: str) -> None:
    engine = create_engine(database_url)
    table = Table(
        "t",
        MetaData(),
        Column("a", Integer, primary_key=True, autoincrement=False),
        Column("b", Integer, primary_key=True, autoincrement=False),
        Column("n", Integer),
    )
    table.metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(insert(table), [{"a": at % 2, "b": at, "n": at} for at in range(6000)])
    statement = page_statement(job_table(table), ["n"], KeyRange((1, 3000)), 10, engine.dialect.name)
    sql = statement.compile(engine)
    explain, wanted = PLANS[engine.dialect.name]
    given = tuple(sql.params[name] for name in sql.positiontup or ()) or sql.params
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if engine.dialect.name != "sqlite":
            connection.execute(text("ANALYZE TABLE t" if engine.dialect.name == "mysql" else "ANALYZE t")).close()
        found = connection.exec_driver_sql(f"{explain} {sql}", given)
        plan = "\n".join(" ".join(map(str, row)) for row in found)
    assert wanted in plan, plan
    assert "filesort" not in plan and "Sort" not in plan and "TEMP B-TREE" not in plan, plan  # noqa: PT018


def test_sqlite_has_null_in_a_key_and_the_walk_goes_past_it() -> None:
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE place (a INTEGER, b TEXT, PRIMARY KEY (a, b))"))
        connection.execute(text("INSERT INTO place VALUES (NULL, NULL), (NULL, 'x'), (1, NULL), (1, 'a'), (2, 'b')"))
    assert walked(engine, PLACES, 1) == [(None, None), (None, "x"), (1, None), (1, "a"), (2, "b")]
    engine.dispose()


def test_a_key_column_that_is_read_too_comes_as_it_is_declared_beside() -> None:
    statement = page_statement(job_table(PLACES), ["a"], KeyRange((1, "x")), 5, "sqlite")
    assert list(statement.selected_columns.keys()) == ["a", "b", as_declared("a")]
