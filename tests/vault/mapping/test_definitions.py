import pytest
from sqlalchemy import Column, Integer, MetaData, Table, Text

from tests.vault.mapping.clinic import Employee, Income, Person
from vault.definitions.row_context import BoundColumn
from vault.errors import SealedColumnError
from vault.mapping import Sealed, definition_of, sealed_columns, term_columns
from vault.terms.term import BlindIndex


def test_a_column_gives_the_definition_of_its_field() -> None:
    definition = definition_of(Income.__table__.c.amount)
    assert (definition.label, definition.codec) == ("income.amount", "float64/1")
    assert definition.bound == (BoundColumn("person", "str/1"),)
    assert definition.indexes == (BlindIndex(),)
    assert definition_of(Income.amount) == definition
    assert definition_of(Employee.plan).label == "employee.scheme"


def test_context_names_are_schema_and_table_unless_they_are_given() -> None:
    made = Table(
        "t", MetaData(), Column("x", Sealed(Text)), Column("y", Sealed(Text, table="old.t", column="z")), schema="s"
    )
    assert [definition_of(column).label for column in made.c] == ["s.t.x", "old.t.z"]


def test_the_sealed_columns_of_a_table_come_in_order() -> None:
    assert [column.name for column in sealed_columns(Person.__table__)] == ["ssn", "email", "note", "age", "scan"]


def test_the_term_columns_come_in_the_order_of_the_fields_terms() -> None:
    assert [column.name for column in term_columns(Person.ssn)] == ["ssn_bidx_a", "ssn_bidx_b"]
    assert term_columns(Person.__table__.c.note) == []


def test_a_plain_column_is_refused() -> None:
    table = Table("t", MetaData(), Column("x", Integer))
    for column in (table.c.x, Column("loose", Sealed(Text))):
        with pytest.raises(SealedColumnError, match="not a sealed column"):
            definition_of(column)
