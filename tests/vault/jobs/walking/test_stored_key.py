from decimal import Decimal

import pytest
from sqlalchemy import Column, Integer, MetaData, Numeric, Table, Text, create_engine, insert, select
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateTable

from vault.errors import DefinitionError
from vault.jobs.walking.stored_key import as_declared, job_table

PRICES = Table("price", MetaData(), Column("amount", Numeric(12, 2), primary_key=True), Column("what", Text))


def test_a_key_comes_as_the_driver_gives_it_and_is_found_again_by_that() -> None:
    engine = create_engine("sqlite://")
    PRICES.create(engine)
    stored = job_table(PRICES)
    with engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO price VALUES (0.123456789, 'finer than it is declared')")
        key = connection.scalar(select(stored.c.amount))
        assert key == 0.123456789
        assert connection.scalar(select(PRICES.c.amount)) == Decimal("0.12")
        assert connection.scalar(select(stored.c.what).where(stored.c.amount == key))
        assert connection.scalar(select(PRICES.c.what).where(PRICES.c.amount == Decimal("0.12"))) is None
    engine.dispose()


def test_the_declared_name_is_compiled_for_each_database() -> None:
    made = str(CreateTable(job_table(PRICES)).compile(dialect=postgresql.dialect()))
    assert "amount NUMERIC(12, 2) NOT NULL" in made


def test_a_job_s_table_is_another_than_the_mapped_one() -> None:
    assert isinstance(PRICES.c.amount.type, Numeric)
    assert job_table(PRICES).metadata is not PRICES.metadata
    assert as_declared("amount") != "amount"


def test_a_table_without_a_primary_key_is_refused() -> None:
    with pytest.raises(DefinitionError, match="has no primary key to walk it by: declare one"):
        job_table(Table("t", MetaData(), Column("x", Integer)))


def test_inserting_still_works_through_the_stored_key() -> None:
    engine = create_engine("sqlite://")
    PRICES.create(engine)
    with engine.begin() as connection:
        connection.execute(insert(job_table(PRICES)).values(amount=1.5, what="x"))
        assert connection.scalar(select(PRICES.c.amount)) == Decimal("1.50")
    engine.dispose()
