"""The hidden columns beside a sealed one."""

import copy
import pickle
from typing import Any

import pytest
from sqlalchemy import Column, Engine, Index, Integer, MetaData, Table, Text, UniqueConstraint, inspect, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from tests.vault.mapping.clinic import Base, Person
from vault.errors import DefinitionError
from vault.mapping import Sealed, definition_of, term_columns
from vault.mapping.term_type import Term
from vault.normalisers.parts import last_four
from vault.terms.term import BlindIndex

pytestmark = pytest.mark.databases_in_turn

P = Person.__table__


def test_each_index_has_two_slots_and_the_first_is_indexed_in_the_database(clinic: Engine) -> None:
    columns = {column["name"]: column["type"] for column in inspect(clinic).get_columns("person")}
    assert list(columns)[-8:] == [f"{name}_bidx_{slot}" for name in ("ssn", "email", "age", "scan") for slot in "ab"]
    indexes = {index["column_names"][0]: bool(index["unique"]) for index in inspect(clinic).get_indexes("person")}
    assert indexes == {"ssn_bidx_a": False, "email_bidx_a": True, "age_bidx_a": False, "scan_bidx_a": False}


def test_they_are_hidden_from_entities_and_selects() -> None:
    assert set(inspect(Person).columns.keys()) == {"id", "name", "ssn", "email", "note", "age", "scan"}
    assert not hasattr(Person, "ssn_bidx_a")
    assert [column.key for column in select(P).selected_columns] == [
        "id",
        "name",
        "ssn",
        "email",
        "note",
        "age",
        "scan",
    ]


def test_a_column_added_later_gets_its_own() -> None:
    table = Table("later", MetaData(), Column("id", Integer, primary_key=True))
    table.append_column(Column("x", Sealed(Text, index=BlindIndex())))
    assert table.c.keys() == ["id", "x", "x_bidx_a", "x_bidx_b"]


def test_a_mixins_column_is_a_field_of_each_table_that_takes_it() -> None:
    class Local(DeclarativeBase):
        pass

    class HasCode:
        id: Mapped[int] = mapped_column(primary_key=True)
        code: Mapped[str] = mapped_column(Sealed(Text, index=BlindIndex()))

    class One(HasCode, Local):
        __tablename__ = "one"

    class Two(HasCode, Local):
        __tablename__ = "two"

    assert definition_of(One.code).label == "one.code"
    assert definition_of(Two.code).label == "two.code"
    assert One.__table__.c.code.type is not Two.__table__.c.code.type


def test_one_type_object_on_two_columns_is_two_fields() -> None:
    shared = Sealed(Text, index=BlindIndex())
    table = Table("shared", MetaData(), Column("x", shared), Column("y", shared))
    assert [definition_of(table.c[name]).column for name in "xy"] == ["x", "y"]
    assert table.c.keys() == ["x", "y", "x_bidx_a", "x_bidx_b", "y_bidx_a", "y_bidx_b"]


def test_k06_04_copies_of_the_metadata_keep_their_options(quick: Engine) -> None:
    moved = MetaData()
    P.to_metadata(moved)
    for copied in (copy.deepcopy(Base.metadata), moved, pickle.loads(pickle.dumps(moved))):
        table = copied.tables["person"]
        assert table is not P
        assert table.c.keys() == P.c.keys()
        assert table.c.email.type.unique
        assert table.c.email.type.stored.length == 60
        assert definition_of(table.c.email) == definition_of(P.c.email)
        assert [index.unique for index in sorted(table.indexes, key=lambda i: str(i.name))] == [
            False,
            True,
            False,
            False,
        ]
        assert table.c.ssn.type.owner.column is table.c.ssn
        assert term_columns(table.c.ssn)[0] is table.c.ssn_bidx_a
        with Session(quick) as session:
            session.execute(table.insert(), {"id": 1, "ssn": "plain§a"})
            session.execute(table.insert(), {"id": 2, "email": "plain§a"})
            assert session.scalars(select(table.c.ssn).where(table.c.ssn == "plain§a")).all() == ["plain§a"]
    assert "person" in pickle.loads(pickle.dumps(moved)).tables, "also after it was used"


def test_a_table_in_another_schema_is_another_field() -> None:
    assert definition_of(P.to_metadata(MetaData(), schema="other").c.ssn).label == "other.person.ssn"


def test_a_name_that_is_taken_is_named() -> None:
    with pytest.raises(DefinitionError, match="x_bidx_b"):
        Table("t", MetaData(), Column("x", Sealed(Text, index=BlindIndex())), Column("x_bidx_b", Text))


@pytest.mark.parametrize("of", [("x",), ("tenant", "x")])
@pytest.mark.parametrize(
    "own", [UniqueConstraint, lambda *names: Index("one", *names, unique=True), lambda *names: Index("one", *names)]
)
def test_what_would_hold_sealed_bytes_unique_is_refused_since_they_never_repeat(own: Any, of: tuple[str, ...]) -> None:
    columns = Column("tenant", Integer), Column("x", Sealed(Text, index=BlindIndex()))
    with pytest.raises(DefinitionError, match=r"t\.x: sealed bytes never repeat.*term_columns"):
        Table("t", MetaData(), *columns, own(*of))


def test_several_columns_are_unique_through_the_term(quick: Engine) -> None:
    table = Table("several", MetaData(), Column("tenant", Integer), Column("x", Sealed(Text, index=BlindIndex())))
    with pytest.raises(DefinitionError, match="never repeat"):
        Index("late", table.c.x, unique=True)
    Index("one", table.c.tenant, term_columns(table.c.x)[0], unique=True)
    table.create(quick)
    with quick.begin() as connection:
        connection.execute(table.insert(), [{"tenant": n, "x": "plain§"} for n in (1, 2)])
        with pytest.raises(IntegrityError):
            connection.execute(table.insert(), {"tenant": 1, "x": "plain§"})


@pytest.mark.parametrize("index", [BlindIndex(bits=40), BlindIndex(last_four)])
@pytest.mark.parametrize("own", [UniqueConstraint, lambda *of: Index("one", *of, unique=True)])
def test_terms_that_unequal_values_share_are_not_declared_unique(index: BlindIndex, own: Any) -> None:
    table = Table("shared", MetaData(), Column("tenant", Integer), Column("x", Sealed(Text, index=index)))
    term = term_columns(table.c.x)[0]
    with pytest.raises(DefinitionError, match=r"shared\.x_bidx_a holds the terms of a truncated or partial index"):
        own(table.c.tenant, term)
    assert Index("fast", table.c.tenant, term) in table.indexes


def test_a_table_declared_again_keeps_its_columns() -> None:
    metadata = MetaData()
    Table("t", metadata, Column("x", Sealed(Text, index=BlindIndex())))
    again = Table("t", metadata, Column("y", Sealed(Text, index=BlindIndex())), extend_existing=True)
    assert again.c.keys() == ["x", "x_bidx_a", "x_bidx_b", "y", "y_bidx_a", "y_bidx_b"]
    assert isinstance(again.c.y_bidx_b.type, Term)
