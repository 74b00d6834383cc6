"""The database index of a slot, on three databases."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Column, Engine, Integer, MetaData, Table, create_engine, insert, inspect
from sqlalchemy.exc import IntegrityError

from vault.errors import ChangeoverError
from vault.index.slot_storage import drop_slot_index, index_slot_column, slot_index_name
from vault.mapping.term_type import Term

metadata = MetaData()
person = Table(
    "person", metadata, Column("id", Integer, primary_key=True, autoincrement=False), Column("ssn_bidx_b", Term(37))
)


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = create_engine(database_url)
    metadata.create_all(engine)
    yield engine
    engine.dispose()


def made(engine: Engine) -> list[tuple[str | None, bool]]:
    found = inspect(engine).get_indexes("person")
    return [(one["name"], bool(one["unique"])) for one in found if one["column_names"] == ["ssn_bidx_b"]]


def test_it_is_made_once_for_terms_of_a_length_and_dropped(engine: Engine) -> None:
    for _ in range(2):
        index_slot_column(engine, None, "person", "ssn_bidx_b", unique=True, length=13)
    assert made(engine) == [("ix_person_ssn_bidx_b", True)]
    term = b"x" * 13
    with engine.begin() as connection:
        connection.execute(insert(person), [{"id": 1, "ssn_bidx_b": term}, {"id": 2, "ssn_bidx_b": None}])
        assert connection.exec_driver_sql("SELECT ssn_bidx_b FROM person WHERE id = 1").scalar() == term
    with pytest.raises(IntegrityError), engine.begin() as connection:
        connection.execute(insert(person), [{"id": 3, "ssn_bidx_b": term}])
    for _ in range(2):
        drop_slot_index(engine, None, "person", "ssn_bidx_b")
    assert made(engine) == []
    index_slot_column(engine, None, "person", "ssn_bidx_b", unique=False, length=13)
    assert made(engine) == [("ix_person_ssn_bidx_b", False)]


def test_rows_that_are_equal_already_are_told_with_the_statement(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(insert(person), [{"id": n, "ssn_bidx_b": b"x" * 37} for n in (1, 2)])
    for _ in range(2):  # PostgreSQL leaves an invalid index behind, which is no index
        with pytest.raises(ChangeoverError, match=r"(?s)did not do this on person .*CREATE|ALTER"):
            index_slot_column(engine, None, "person", "ssn_bidx_b", unique=True, length=37)
    with engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM person WHERE id = 2")
    index_slot_column(engine, None, "person", "ssn_bidx_b", unique=True, length=37)
    assert made(engine) == [("ix_person_ssn_bidx_b", True)]


@pytest.mark.postgres
def test_of_a_partitioned_table_the_statement_is_told_and_what_was_made_so_is_dropped(postgres_url: str) -> None:
    engine = create_engine(postgres_url)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE person (id int, ssn_bidx_b bytea) PARTITION BY RANGE (id)")
        connection.exec_driver_sql("CREATE TABLE person_1 PARTITION OF person FOR VALUES FROM (0) TO (9)")
    with pytest.raises(ChangeoverError, match="is partitioned") as refused:
        index_slot_column(engine, None, "person", "ssn_bidx_b", unique=False, length=37)
    statement = str(refused.value).splitlines()[-1]
    with engine.begin() as connection:
        connection.exec_driver_sql(statement)
    assert not index_slot_column(engine, None, "person", "ssn_bidx_b", unique=False, length=37)
    drop_slot_index(engine, None, "person", "ssn_bidx_b")
    assert made(engine) == []


def test_a_long_name_is_cut_the_same_way_each_time() -> None:
    assert slot_index_name("person", "ssn_bidx_b") == "ix_person_ssn_bidx_b"
    long = slot_index_name("person" * 10, "ssn_bidx_b")
    assert len(long) == 63
    assert long == slot_index_name("person" * 10, "ssn_bidx_b") != slot_index_name("person" * 10, "ssn_bidx_a")
