"""The rows that a run left are named, with whether somebody has them locked."""

import pytest
from sqlalchemy import create_engine, delete, update

from tests.servers.databases import SERVERS
from tests.vault.jobs.plain_work import NOTES, Capitals, write_notes
from vault.jobs.left_rows import FREE, LOCKED, MOST_LEFT, count_left_rows, left_rows
from vault.jobs.walking.key_range import WHOLE, KeyRange


def test_rows_that_are_due_are_named_in_key_order_and_not_those_that_fail(database_url: str) -> None:
    engine = create_engine(database_url)
    write_notes(engine, ["A", "b", "c!", "D", "e"])
    assert [(row.key, row.reason) for row in left_rows(engine, Capitals(), WHOLE)] == [((1,), FREE), ((4,), FREE)]
    assert [row.key for row in left_rows(engine, Capitals(), KeyRange((1,), None))] == [(4,)]
    assert left_rows(engine, Capitals(), WHOLE, lambda: True) == []


def test_no_more_than_so_many_are_named(database_url: str) -> None:
    engine = create_engine(database_url)
    write_notes(engine, ["a"] * (MOST_LEFT + 5))
    assert [row.key for row in left_rows(engine, Capitals(), WHOLE)] == [(at,) for at in range(MOST_LEFT)]
    assert count_left_rows(engine, Capitals(), WHOLE) == MOST_LEFT + 5
    assert count_left_rows(engine, Capitals(), WHOLE, lambda: True) == 0


@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
def test_a_row_that_somebody_has_locked_is_told_from_one_that_is_free(database_url: str) -> None:
    engine, service = create_engine(database_url), create_engine(database_url)
    write_notes(engine, ["a", "b", "c"])
    with service.begin() as connection:
        connection.execute(update(NOTES).where(NOTES.c.id == 1).values(owner=7))
        found = {row.key: row.reason for row in left_rows(engine, Capitals(), WHOLE)}
    assert found == {(0,): FREE, (1,): LOCKED, (2,): FREE}
    with engine.begin() as connection:
        connection.execute(delete(NOTES).where(NOTES.c.id == 1))
    assert [row.key for row in left_rows(engine, Capitals(), WHOLE)] == [(0,), (2,)]
