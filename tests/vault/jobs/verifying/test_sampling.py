"""Samples, as each database picks them."""

import pytest
from sqlalchemy import Column, Engine, Integer, MetaData, Table, create_engine, func, insert, select

from vault.jobs.verifying.sampling import is_picked, picked_keys
from vault.jobs.walking.stored_key import job_table

ROWS = 400
plain = Table("thing", MetaData(), Column("a", Integer, primary_key=True), Column("b", Integer, primary_key=True))


@pytest.fixture
def engine(database_url: str) -> Engine:
    engine = create_engine(database_url)
    plain.create(engine)
    with engine.begin() as connection:
        connection.execute(insert(plain), [{"a": at // 7, "b": at} for at in range(ROWS)])
    return engine


def test_picked_keys_are_so_many_different_ones_in_key_order_and_others_the_next_time(engine: Engine) -> None:
    table = job_table(plain)
    first, second = picked_keys(engine, table, 50), picked_keys(engine, table, 50)
    for keys in (first, second):
        assert len(set(keys)) == 50
        assert list(keys) == sorted(keys)
    assert first != second
    assert len(picked_keys(engine, table, 2 * ROWS)) == ROWS


def test_every_row_is_picked_at_some_time_by_its_share(engine: Engine) -> None:
    seen: set[int] = set()
    numbers = []
    with engine.connect() as connection:
        for _ in range(60):
            found = connection.scalars(select(plain.c.b).where(is_picked(0.3, engine.dialect.name))).all()
            numbers.append(len(found))
            seen.update(found)
        everything = select(func.count()).select_from(plain).where(is_picked(1.0, engine.dialect.name))
        assert connection.scalar(everything) == ROWS
    assert seen == set(range(ROWS))
    assert 0.25 * ROWS < sum(numbers) / len(numbers) < 0.35 * ROWS, "some 11 standard deviations either way"
