"""Plaintext column: made, found, copied and hidden; refused where two columns could not share their values."""

from typing import Any

import pytest
from sqlalchemy import (
    JSON,
    CheckConstraint,
    Column,
    Computed,
    ForeignKey,
    Identity,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    insert,
    inspect,
    select,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, configure_mappers, mapped_column

from tests.vault.mapping.migrating import Base, Migration, Patient, Stay, expected
from vault.errors import DefinitionError
from vault.mapping import CompoundIndex, Sealed, definition_of, sealed_columns
from vault.mapping.plaintext_column import is_plaintext
from vault.mapping.table_plan import plan_of
from vault.modes.mode import Mode
from vault.terms.term import BlindIndex

pytestmark = pytest.mark.databases_in_turn

P = Patient.__table__


def table(*columns: Any) -> Table:
    return Table("t", MetaData(), Column("id", Integer, primary_key=True), *columns)


def test_it_has_the_type_index_and_constraints_that_it_had(migration: Migration) -> None:
    there = inspect(migration.engine)
    columns = {column["name"]: column for column in there.get_columns("patient")}
    assert isinstance(columns["ssn"]["type"], String)
    assert columns["ssn"]["nullable"]
    unique = [index["column_names"] for index in there.get_indexes("patient") if index["unique"]]
    assert ["ssn"] in unique
    assert ["name", "ssn"] in [index["column_names"] for index in there.get_indexes("patient")]
    assert "short" in {constraint["name"] for constraint in there.get_check_constraints("patient")}


def test_it_is_hidden_from_selects_and_mappers() -> None:
    assert "ssn" not in list(select(P).selected_columns.keys())
    assert Patient.ssn.property.columns[0].name == "ssn_sealed"
    assert [attribute.key for attribute in inspect(Patient).column_attrs] == ["id", "name", "ssn", "phone"]
    assert sealed_columns(P) == [P.c.ssn_sealed, P.c.phone_sealed]


def test_it_is_known_through_aliases_and_subqueries() -> None:
    assert is_plaintext(P.c.ssn)
    assert is_plaintext(P.alias().c.ssn)
    assert is_plaintext(select(P.c.ssn).subquery().c.ssn)
    assert not is_plaintext(P.c.ssn_sealed)
    assert not is_plaintext(P.c.name)


def test_both_columns_may_be_null_in_the_database_while_a_field_migrates() -> None:
    stay = Stay.__table__
    assert stay.c.reason.nullable
    assert stay.c.reason_sealed.nullable
    assert stay.c.reason_sealed.type.required
    assert not P.c.ssn_sealed.type.required


@pytest.mark.parametrize("times", [1, 2])
def test_a_copied_table_has_it_once(times: int) -> None:
    copied = MetaData()
    for name in ("patient", "stay"):
        source = Base.metadata.tables[name].to_metadata(copied)
        for _ in range(times - 1):
            source = source.to_metadata(MetaData())
        assert [column.name for column in source.columns] == [c.name for c in Base.metadata.tables[name].columns]
    assert copied.tables["stay"].c.reason_sealed.type.required
    plan = plan_of(copied.tables["patient"])
    assert plan is not None
    assert plan.plaintexts == {"ssn", "phone"}


def test_a_column_that_the_table_has_is_found_wherever_it_stands() -> None:
    for columns in (
        (Column("s", String(9), nullable=False, unique=True), Column("x", Sealed(Text, migrating="s"))),
        (Column("x", Sealed(Text, migrating="s")), Column("s", String(9), nullable=False, unique=True)),
    ):
        made = table(*columns)
        assert sorted(made.c.keys()) == ["id", "s", "x"]
        assert not made.c.s.nullable  # what the table says of it stays
        assert is_plaintext(made.c.s)
        assert select(made).selected_columns.keys() == ["id", "x"]


def test_the_sealed_column_may_have_its_key() -> None:
    made = table(Column("x", Sealed(String(9), migrating="s"), key="s"))
    assert {column.key: column.name for column in made.columns} == {"id": "id", "s": "x", "s__plaintext": "s"}
    sealed = made.c.s.type.owner  # type: ignore[attr-defined]
    assert sealed.plaintext is made.c.s__plaintext


def test_one_given_as_a_column_is_there_for_the_constraints_of_the_table() -> None:
    made = table(
        Column("x", Sealed(Text, migrating=Column("s", String(9), CheckConstraint("s <> ''")))),
        UniqueConstraint("s", "id"),
        Index("ix", "s"),
    )
    assert {tuple(c.name for c in index.columns) for index in made.indexes} == {("s",)}
    assert any(isinstance(constraint, CheckConstraint) for constraint in made.c.s.constraints)


def test_a_mixin_gives_each_class_its_own() -> None:
    class Local(DeclarativeBase):
        pass

    class Named:
        secret: Mapped[str] = mapped_column("x", Sealed(Text, migrating=Column("s", Text, index=True)))

    class One(Named, Local):
        __tablename__ = "one"
        id: Mapped[int] = mapped_column(primary_key=True)

    class Two(Named, Local):
        __tablename__ = "two"
        id: Mapped[int] = mapped_column(primary_key=True)

    configure_mappers()
    for made in (One.__table__, Two.__table__):
        assert sorted(made.c.keys()) == ["id", "s", "x"]
        assert made.c.x.type.required
        assert made.c.x.type.owner.plaintext is made.c.s


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ([Column("x", Sealed(Text, migrating="x"))], "another column"),
        ([Column("x", Sealed(Text, migrating="id"))], "no primary or foreign key"),
        ([Column("x", Sealed(Text, migrating=Column("s", ForeignKey("u.id"))))], "no primary or foreign key"),
        ([Column("x", Sealed(Text, migrating=Column("s", Text, server_default="y")))], "the server makes"),
        ([Column("x", Sealed(Text, migrating=Column("s", Text, Computed("1"))))], "the server makes"),
        ([Column("x", Sealed(Integer, migrating=Column("s", Integer, Identity())))], "the server makes"),
        ([Column("x", Sealed(Text, migrating=Column("s", Text, default="y")))], "give that one the default"),
        ([Column("x", Sealed(Text, migrating=Column("s", Text, onupdate="y")))], "give that one the default"),
        ([Column("x", Sealed(JSON, migrating="s"))], "none_as_null"),
        (
            [Column("x", Sealed(Text, migrating="s")), Column("y", Sealed(Text)), CompoundIndex("c", "x", "y")],
            "when that is done",
        ),
    ],
)
def test_what_cannot_migrate_is_refused(columns: list[Any], says: str) -> None:
    with pytest.raises(DefinitionError, match=says):
        table(*columns)


def test_an_attribute_of_its_own_is_refused() -> None:
    class Local(DeclarativeBase):
        pass

    class One(Local):
        __tablename__ = "one"
        id: Mapped[int] = mapped_column(primary_key=True)
        plain: Mapped[str] = mapped_column("s", Text)
        secret: Mapped[str] = mapped_column("x", Sealed(Text, index=BlindIndex(), migrating="s"))

    with pytest.raises(DefinitionError, match="leave the attribute out"):
        configure_mappers()
    Local.registry.dispose()


def test_the_type_says_what_it_migrates_from() -> None:
    assert repr(Sealed(Text, migrating="s")) == "Sealed(Text(), migrating='s')"


def ssn() -> "Column[str]":
    return Column("ssn_sealed", Sealed(String(30), index=BlindIndex(), unique=True, migrating="ssn"))


def writes_and_finds_in_each_mode(migration: Migration, table: Table) -> None:
    for key, mode in enumerate(Mode, start=1):
        migration.modes.set(mode)
        with migration.engine.begin() as connection:
            connection.execute(insert(table), [{"id": key, "ssn_sealed": f"plain§{key}"}])
            found = connection.execute(select(table.c.ssn_sealed).where(table.c.ssn_sealed == f"plain§{key}"))
            assert found.scalars().all() == [f"plain§{key}"]
    assert migration.stored_patients() == [expected(mode, n, f"plain§{n}") for n, mode in enumerate(Mode, start=1)]


def test_over_a_reflected_table_the_plaintext_column_is_found_there_and_hidden(migration: Migration) -> None:
    read = Table("patient", MetaData(), ssn(), autoload_with=migration.engine)
    assert "ssn" not in select(read).selected_columns
    assert is_plaintext(read.c.ssn)
    writes_and_finds_in_each_mode(migration, read)


def test_a_plaintext_column_that_is_declared_again_stays_the_fields(migration: Migration) -> None:
    models = MetaData()
    table = Table("patient", models, Column("id", Integer, primary_key=True), ssn())
    assert definition_of(table.c.ssn_sealed)
    before = table.c.ssn_sealed.type.owner.plaintext
    again = Column("ssn", String(30))
    Table("patient", models, again, extend_existing=True)
    assert table.c.ssn_sealed.type.owner.plaintext is again is not before
    assert "ssn" not in select(table).selected_columns
    Table("patient", models, ssn(), extend_existing=True)
    writes_and_finds_in_each_mode(migration, table)
    sealed = Sealed(String(30), index=BlindIndex(), unique=True)
    with pytest.raises(DefinitionError, match="another migrating="):
        Table("patient", models, Column("ssn_sealed", sealed), extend_existing=True)
