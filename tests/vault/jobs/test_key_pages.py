from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Column, Integer, MetaData, String, Table, create_engine, insert

from vault.errors import DefinitionError
from vault.jobs.key_pages import page_statement, pages

PLACES = Table("place", MetaData(), Column("a", Integer, primary_key=True), Column("b", String, primary_key=True))


@given(st.sets(st.tuples(st.integers(-3, 3), st.text("abc", max_size=2))), st.integers(1, 7))
def test_every_row_comes_once_and_in_key_order(keys: set[tuple[int, str]], rows: int) -> None:
    engine = create_engine("sqlite://")
    PLACES.metadata.create_all(engine)
    if keys:
        with engine.begin() as connection:
            connection.execute(insert(PLACES), [{"a": a, "b": b} for a, b in keys])
    seen = [(row["a"], row["b"]) for page in pages(engine, PLACES, [], rows) for row in page]
    assert seen == sorted(keys)
    engine.dispose()


def test_rows_deleted_and_inserted_behind_the_page_do_not_shift_it() -> None:
    engine = create_engine("sqlite://")
    table = Table("t", MetaData(), Column("id", Integer, primary_key=True))
    table.metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(insert(table), [{"id": i} for i in range(100, 200)])
    seen: list[int] = []
    for number, page in enumerate(pages(engine, table, [], 10)):
        seen += [row["id"] for row in page]
        with engine.begin() as connection:
            connection.execute(table.delete().where(table.c.id == seen[number]))
            connection.execute(insert(table), [{"id": number}])
    assert seen == list(range(100, 200))
    engine.dispose()


def test_a_key_column_that_is_asked_for_too_is_selected_once() -> None:
    last: Sequence[object] = (1, "x")
    assert list(page_statement(PLACES, ["a"], last, 5).selected_columns.keys()) == ["a", "b"]


def test_a_table_without_a_primary_key_is_refused() -> None:
    engine = create_engine("sqlite://")
    with pytest.raises(DefinitionError, match="no primary key"):
        next(pages(engine, Table("t", MetaData(), Column("x", Integer)), ["x"], 2))
    engine.dispose()
