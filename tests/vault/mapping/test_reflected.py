"""Tables that are read from the database, and declared again, where some of their columns are sealed."""

from typing import Any

import pytest
from sqlalchemy import Column, Engine, Integer, LargeBinary, MetaData, String, Table, Text, insert, select, text
from sqlalchemy.ext.declarative import DeferredReflection
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from tests.vault.mapping.clinic import Person
from vault.errors import DefinitionError, SealedColumnError
from vault.mapping import CompoundIndex, Sealed, definition_of, equal_together
from vault.mapping.definitions import all_term_columns
from vault.mapping.row_binding import pins_of
from vault.mapping.term_type import Term
from vault.normalise import digits
from vault.terms.term import BlindIndex

P = Person.__table__
SSN = P.c.ssn.type


def ssn(**changes: Any) -> "Column[Any]":
    """As the clinic has it, unless it changes."""
    said = {"index": SSN.index, "unique": SSN.unique, "bind": SSN.bind} | changes
    return Column("ssn", Sealed(SSN.stored, **said))


def test_a_field_declared_over_a_reflected_table_finds_its_terms_there(clinic: Engine) -> None:
    with Session(clinic) as session:
        session.add(Person(id=1, ssn="11-1"))
        session.commit()
    read = Table("person", MetaData(), ssn(), autoload_with=clinic)
    assert isinstance(read.c.ssn_bidx_a.type, Term)
    assert {column.name for column in all_term_columns(read)} == {"ssn_bidx_a", "ssn_bidx_b"}
    assert "ssn_bidx_a" not in select(read).selected_columns
    assert definition_of(read.c.ssn) == definition_of(P.c.ssn)
    with clinic.begin() as connection:
        connection.execute(insert(read), [{"id": 2, "ssn": "22-2"}])
        found = connection.scalars(select(read.c.ssn).where(read.c.ssn.in_(["11-1", "22-2", "33-3"]))).all()
        assert sorted(found) == ["11-1", "22-2"]
        assert connection.scalars(select(P.c.id).where(P.c.ssn == "22-2")).all() == [2]


def test_an_index_over_columns_declared_over_a_reflected_table_finds_its_terms_there(quick: Engine) -> None:
    def parts() -> list[Any]:
        whole = CompoundIndex("whole", "name", "born")
        return [Column("name", Sealed(Text)), Column("born", Sealed(Text)), whole]

    made = Table("both", MetaData(), Column("id", Integer, primary_key=True), *parts())
    made.create(quick)
    read = Table("both", MetaData(), *parts(), autoload_with=quick)
    assert all(isinstance(read.c[name].type, Term) for name in ("whole_a", "whole_b"))
    assert "whole_a" not in select(read).selected_columns
    with quick.begin() as connection:
        connection.execute(insert(read), [{"id": 1, "name": "Ann", "born": "2031"}])
        asked = equal_together(made, "whole", {"name": "Ann", "born": "2031"})
        assert connection.scalars(select(made.c.id).where(asked)).all() == [1]


def test_reflection_deferred_by_a_class_reads_and_finds(quick: Engine) -> None:
    class Read(DeferredReflection, DeclarativeBase):
        __abstract__ = True

    class Someone(Read):
        __tablename__ = "person"
        ssn: Mapped[str] = mapped_column(Sealed(SSN.stored, index=SSN.index))

    Read.prepare(quick)
    with Session(quick) as session:
        session.add(Someone(id=1, ssn="11-1"))
        session.commit()
        assert session.scalars(select(Someone.ssn).where(Someone.ssn == "11-1")).all() == ["11-1"]


def test_bytes_of_the_applications_own_are_not_taken_for_terms() -> None:
    with pytest.raises(DefinitionError, match="ssn_bidx_a"):
        Table("t", MetaData(), ssn(), Column("ssn_bidx_a", LargeBinary))


def test_reflection_over_declared_fields_does_not_make_them_plain(clinic: Engine) -> None:
    for read_over in (
        lambda models: Table("person", models, autoload_with=clinic, extend_existing=True),
        lambda models: models.reflect(clinic, only=["person"], extend_existing=True),
    ):
        models = MetaData()
        Table("person", models, Column("id", Integer, primary_key=True), ssn())
        with pytest.raises(DefinitionError, match=r"would become plain: .* autoload_replace=False"):
            read_over(models)
    models = MetaData()
    declared = Table("person", models, Column("id", Integer, primary_key=True), ssn())
    Table("person", models, autoload_with=clinic, extend_existing=True, autoload_replace=False)
    assert isinstance(declared.c.ssn.type, Sealed)
    assert declared.c.scan.type.python_type is bytes  # what is not declared is plain bytes


def test_a_field_that_is_declared_again_stays_sealed_with_its_indexes(quick: Engine) -> None:
    models = MetaData()
    table = Table("person", models, Column("id", Integer, primary_key=True), ssn())
    with quick.begin() as connection:
        connection.execute(insert(table), [{"id": 1, "ssn": "11-1"}])
    refused = [
        (Column("ssn", Text), "person.ssn is sealed, and would become plain"),
        (Column("ssn_bidx_a", LargeBinary), "person.ssn_bidx_a holds the terms of an index"),
        (ssn(index=(), unique=False), "declared again with other indexes"),
        (ssn(index=BlindIndex(digits, name="other")), "declared again with other indexes"),
        (ssn(unique=not SSN.unique), "declared again with other indexes"),
    ]
    for column, message in refused:
        with pytest.raises(DefinitionError, match=message):
            Table("person", models, column, extend_existing=True)
    assert Table("person", models, ssn(), Column("name", Text), extend_existing=True) is table
    with quick.begin() as connection:
        connection.execute(insert(table), [{"id": 2, "ssn": "22-2", "name": "Ann"}])
        assert connection.execute(select(table.c.id, table.c.ssn).where(table.c.ssn == "22-2")).all() == [(2, "22-2")]


def test_a_bound_column_that_is_declared_again_is_what_fields_are_bound_to(quick: Engine) -> None:
    models = MetaData()
    note = Column("note", Sealed(Text, bind="id"))
    table = Table("bound", models, Column("id", Integer, primary_key=True, autoincrement=False), note)
    before = definition_of(table.c.note)
    Table("bound", models, Column("id", String(20), primary_key=True), extend_existing=True)
    assert definition_of(table.c.note) != before
    assert definition_of(table.c.note).bound[0].codec_id == "str/1"
    table.create(quick)
    with quick.begin() as connection:
        connection.execute(insert(table), [{"id": "a", "note": "x"}])
        changed = table.update().where(table.c.id == "a").values(note="y")
        assert pins_of(changed)
        connection.execute(changed)
        assert connection.execute(select(table.c.note)).scalar_one() == "y"
    with pytest.raises(DefinitionError, match="which the server assigns"):
        Table("bound", models, Column("id", Integer, primary_key=True), extend_existing=True)


def test_textual_sql_of_an_entity_that_is_bound_to_its_row_is_refused(clinic: Engine) -> None:
    """Also where the value is NULL, or no sealed value: no error of another kind gets out."""
    models = MetaData()
    note = Column("note", Sealed(Text, bind="id"))
    table = Table("textual", models, Column("id", Integer, primary_key=True, autoincrement=False), note)
    plain = Table("textual", MetaData(), Column("id", Integer, primary_key=True), Column("note", LargeBinary))

    class Base(DeclarativeBase):
        metadata = models

    class Bound(Base):
        __table__ = table

    table.drop(clinic, checkfirst=True)
    table.create(clinic)
    with Session(clinic) as session:
        session.add_all([Bound(id=1, note="x"), Bound(id=2, note=None)])
        session.commit()
        session.execute(
            insert(plain), [{"id": 3, "note": b"abc"}, {"id": 4, "note": b""}, {"id": 5, "note": b"\0" * 9}]
        )
        for key in range(1, 6):
            asked = select(Bound).from_statement(text(f"SELECT id, note FROM textual WHERE id = {key}"))
            with pytest.raises(SealedColumnError, match=r"textual\.note .* by textual SQL.*: use select") as raised:
                session.scalars(asked).all()
            assert raised.value.__cause__ is None
            session.expunge_all()
        assert session.scalars(select(Bound.note).where(Bound.id <= 2).order_by(Bound.id)).all() == ["x", None]
        session.rollback()
    table.drop(clinic)
