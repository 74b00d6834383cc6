"""Rows that were read are had as mappings and as columns, and are the same in both."""

from collections.abc import Iterator, Sequence

import pytest
from sqlalchemy import RowMapping, create_engine, text

from vault.jobs.walking.read_rows import ReadRows, column_of

SOME = text("SELECT 1 AS id, 'a' AS body UNION ALL SELECT 2, NULL UNION ALL SELECT 3, 'c'")


@pytest.fixture
def both() -> Iterator[tuple[ReadRows, Sequence[RowMapping]]]:
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        result = connection.execute(SOME)
        rows = ReadRows(list(result.keys()), result.all())
        yield rows, connection.execute(SOME).mappings().all()
    engine.dispose()


def test_each_row_is_a_mapping(both: tuple[ReadRows, Sequence[RowMapping]]) -> None:
    rows, mappings = both
    assert len(rows) == 3
    assert [*rows] == mappings
    assert [rows[at] for at in range(-3, 3)] == [mappings[at] for at in range(-3, 3)]
    assert [*rows[1:]] == mappings[1:]


def test_each_column_holds_the_values_of_the_rows(both: tuple[ReadRows, Sequence[RowMapping]]) -> None:
    rows, mappings = both
    for name in ("id", "body"):
        assert rows.column(name) == column_of(rows, name) == column_of(mappings, name)
    assert column_of(rows[1:], "body") == [None, "c"]
    with pytest.raises(ValueError, match="no column"):
        rows.column("nobody")


def test_parts_of_a_page_are_put_together(both: tuple[ReadRows, Sequence[RowMapping]]) -> None:
    rows, mappings = both
    together = ReadRows() + rows[:1] + rows[1:]
    assert [*together] == mappings
    assert together.column("body") == ["a", None, "c"]


def test_of_no_rows_every_column_is_empty() -> None:
    assert not ReadRows()
    assert column_of(ReadRows(), "id") == []
