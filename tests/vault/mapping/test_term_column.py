"""The column of slot a: what of a table it is, however the table is named, and where it stands for itself."""

import pickle

from sqlalchemy import MetaData, Table, insert, select
from sqlalchemy.dialects import mysql, postgresql
from sqlalchemy.orm import aliased
from sqlalchemy.schema import CreateIndex, CreateTable

from tests.vault.mapping.clinic import Person, Ticket
from vault.mapping.term_column import TermColumn, as_stored, as_target, is_as_stored, is_as_target, term_table

P: Table = Person.__table__  # type: ignore[assignment]


def test_slot_a_alone_is_one_in_the_table_and_in_its_copies() -> None:
    copied = P.to_metadata(MetaData())
    for table in (P, copied, pickle.loads(pickle.dumps(copied)), P.alias()):
        assert isinstance(table.c.ssn_bidx_a, TermColumn)
        assert not isinstance(table.c.ssn_bidx_b, TermColumn)
    assert isinstance(Ticket.__table__.c.ticket_whole_a, TermColumn)


def test_an_alias_is_its_table_and_a_subquery_is_not() -> None:
    assert term_table(P) is term_table(P.alias()) is term_table(P.alias().alias()) is term_table(P.tablesample(1)) is P
    assert term_table(aliased(Person).__table__) is P
    for subquery in (select(P.c.ssn_bidx_a).subquery(), select(P.c.ssn_bidx_a).cte(), None):
        assert term_table(subquery) is None


def test_as_stored_it_is_the_column_of_its_own_name() -> None:
    assert is_as_stored(as_stored(P.c.ssn_bidx_a))
    assert not is_as_stored(P.c.ssn_bidx_a)
    assert as_stored(P.c.ssn_bidx_b).compare(P.c.ssn_bidx_b)


def test_as_a_target_it_is_the_column_of_the_slot_that_is_asked() -> None:
    target = as_target(P.c.ssn_bidx_a)
    assert is_as_target(target)
    assert not is_as_target(P.c.ssn_bidx_a)
    assert not is_as_stored(target)
    assert isinstance(target, TermColumn)


def test_in_ddl_and_in_an_insert_it_has_its_own_name() -> None:
    for dialect in (postgresql.dialect(), mysql.dialect()):  # type: ignore[no-untyped-call]
        assert "ssn_bidx_a" in str(CreateTable(P).compile(dialect=dialect))
        (index,) = (index for index in P.indexes if index.columns.keys() == ["ssn_bidx_a"])
        assert (
            str(CreateIndex(index).compile(dialect=dialect))
            == "CREATE INDEX ix_person_ssn_bidx_a ON person (ssn_bidx_a)"
        )
        assert "ssn_bidx_a" in str(insert(P).values(ssn_bidx_a=b"").compile(dialect=dialect))
