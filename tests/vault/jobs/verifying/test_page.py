"""Pages follow each other, each read by one statement."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Column, Engine, Integer, MetaData, String, Table, create_engine, delete, insert, text

from vault.jobs.verifying.page import MOST_KEYS, InOrder, OfKeys, Page, read_rows
from vault.jobs.walking.key_range import KeyRange
from vault.jobs.walking.stored_key import as_declared, job_table

pytestmark = pytest.mark.databases_in_turn

ROWS = 25
plain = Table(
    "thing",
    MetaData(),
    Column("a", Integer, primary_key=True),
    Column("b", String(20), primary_key=True),
    Column("c", Integer),
)
KEYS = [(at // 7, f"k{at:02d}") for at in range(ROWS)]


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = create_engine(database_url)
    plain.create(engine)
    with engine.begin() as connection:
        connection.execute(insert(plain), [{"a": a, "b": b, "c": at} for at, (a, b) in enumerate(KEYS)])
    yield engine
    engine.dispose()


def taken(pages: InOrder | OfKeys, rows: int) -> list[Page]:
    found = []
    while not pages.ended:
        found.append(pages.take(rows))
    return found


@pytest.mark.parametrize("rows", [1, 4, 5, ROWS, ROWS + 1])
def test_all_rows_in_key_order_each_once(engine: Engine, rows: int) -> None:
    pages = taken(InOrder(engine, job_table(plain), ["c", "b"]), rows)
    assert [key for page in pages for key in page.keys] == KEYS
    assert [value for page in pages for value in page.columns["c"]] == list(range(ROWS))
    assert [value for page in pages for value in page.columns[as_declared("b")]] == [b for _, b in KEYS]


def test_from_a_key_on_and_by_a_condition(engine: Engine) -> None:
    table = job_table(plain)
    pages = taken(InOrder(engine, table, ["c"], KeyRange(KEYS[9]), (table.c.c % 2 == 0,)), 3)
    assert [value for page in pages for value in page.columns["c"]] == list(range(10, ROWS, 2))


def test_rows_by_their_keys_those_that_are_still_there(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(delete(plain).where(plain.c.c == 3))
    page = read_rows(engine, job_table(plain), ["c"], [KEYS[7], KEYS[3], KEYS[1]])
    assert (page.keys, tuple(page.columns["c"])) == ([KEYS[1], KEYS[7]], (1, 7))
    assert len(read_rows(engine, job_table(plain), ["c"], [KEYS[3]])) == 0
    pages = taken(OfKeys(engine, job_table(plain), ["c"], KEYS), 4)
    assert [key for page in pages for key in page.keys] == [key for key in KEYS if key != KEYS[3]]


def test_one_statement_names_no_more_keys_than_a_database_takes(engine: Engine) -> None:
    pages = taken(OfKeys(engine, job_table(plain), ["c"], KEYS * 20), 10_000)
    assert len(pages) == -(-ROWS * 20 // MOST_KEYS)


def test_text_that_is_no_utf_8_ends_no_walk_of_sqlite() -> None:
    engine = create_engine("sqlite://")
    plain.create(engine)
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO thing VALUES (1, 'x', CAST(x'ff' AS TEXT))"))
    assert len(InOrder(engine, job_table(plain), ["c"]).take(5)) == 1
    engine.dispose()
