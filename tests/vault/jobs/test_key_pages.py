from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Column, Engine, Integer, MetaData, String, Table, create_engine, insert

from vault.jobs.key_pages import key_of, page_statement
from vault.jobs.key_range import WHOLE, KeyRange
from vault.jobs.stored_key import as_declared, job_table

PLACES = Table("place", MetaData(), Column("a", Integer, primary_key=True), Column("b", String, primary_key=True))


def walked(engine: Engine, table: Table, rows: int, at: KeyRange = WHOLE) -> Iterator[list[tuple[object, ...]]]:
    """The keys of each page."""
    stored = job_table(table)
    while True:
        with engine.connect() as connection:
            statement = page_statement(stored, [], at, rows, engine.dialect.name)
            page = [key_of(stored, row) for row in connection.execute(statement).mappings()]
        if not page:
            return
        yield page
        at = KeyRange(page[-1], at.up_to)


@given(st.sets(st.tuples(st.integers(-3, 3), st.text("abc", max_size=2))), st.integers(1, 7))
def test_every_row_comes_once_and_in_key_order(keys: set[tuple[int, str]], rows: int) -> None:
    engine = create_engine("sqlite://")
    PLACES.metadata.create_all(engine)
    if keys:
        with engine.begin() as connection:
            connection.execute(insert(PLACES), [{"a": a, "b": b} for a, b in keys])
    seen = [key for page in walked(engine, PLACES, rows) for key in page]
    assert seen == sorted(keys)
    engine.dispose()


def test_a_key_column_that_is_read_too_comes_as_it_is_declared_beside() -> None:
    statement = page_statement(job_table(PLACES), ["a"], KeyRange((1, "x")), 5, "sqlite")
    assert list(statement.selected_columns.keys()) == ["a", "b", as_declared("a")]
