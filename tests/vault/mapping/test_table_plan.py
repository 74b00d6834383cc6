import gc
import weakref

from sqlalchemy import Column, Integer, MetaData, Table, Text, literal

from tests.vault.mapping.clinic import Account, Person
from vault.mapping import Sealed
from vault.mapping.table_plan import plan_of
from vault.terms.term import BlindIndex


def test_a_plan_names_what_a_write_has_to_seal() -> None:
    plan = plan_of(Account.__table__)
    assert plan is not None
    assert plan is plan_of(Account.__table__)
    assert list(plan.sealed) == ["pin"]
    assert set(plan.bound) == {"number", "tag"}
    assert {column.name for column in plan.defaults} == {"pin", "tag"}
    assert plan.filled == set()
    assert (plan_of(Person.__table__) or plan).filled >= {"ssn_bidx_a", "ssn_bidx_b"}


def test_an_annotated_table_has_the_plan_of_its_table() -> None:
    annotated = Person.__mapper__.__clause_element__()
    assert annotated is not Person.__table__
    assert plan_of(annotated) is plan_of(Person.__table__)


def test_a_plan_made_of_an_annotated_table_is_the_tables() -> None:
    table = Table("fresh", MetaData(), Column("x", Sealed(Text)))
    plan = plan_of(table._annotate({"note": 1}))
    assert plan is not None
    assert plan.table is table
    assert plan_of(table) is plan


def test_other_things_have_none() -> None:
    plain = Table("plain", MetaData(), Column("x", Integer))
    assert plan_of(plain) is None
    assert plan_of(literal(1)) is None
    assert plan_of(None) is None
    assert plan_of(Person.__table__.alias()) is None


def test_a_new_column_makes_a_new_plan() -> None:
    table = Table("growing", MetaData(), Column("x", Integer))
    assert plan_of(table) is None
    table.append_column(Column("y", Sealed(Text, index=BlindIndex())))
    plan = plan_of(table)
    assert plan is not None
    assert plan.filled == {"y_bidx_a", "y_bidx_b"}


def test_a_plan_does_not_keep_its_table() -> None:
    table = weakref.ref(Table("gone", MetaData(), Column("x", Sealed(Text))))
    gc.collect()
    assert table() is None
