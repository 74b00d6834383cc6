"""Indexes over several columns: on every way of writing they hold the term of all parts of the row, or NULL."""

from collections.abc import Callable, Iterator
from datetime import date
from typing import Any

import pytest
from sqlalchemy import (
    Boolean,
    Column,
    Engine,
    Integer,
    MetaData,
    Table,
    Text,
    bindparam,
    create_engine,
    insert,
    select,
    update,
)
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.orm import Session, aliased

from tests.vault.mapping.ward import Base, Patient
from vault import BlindIndex, CompoundIndex, Sealed, digits, equal_together, find_all
from vault.attaching import attach
from vault.errors import DefinitionError, IndexChangedError, InvalidValueError, SealedColumnError
from vault.mapping.table_plan import plan_of
from vault.opened import OpenedVault
from vault.rows.raw_table import raw_table

pytestmark = pytest.mark.databases_in_turn

T = Patient.__table__
BORN, LATER = date(1980, 1, 1), date(1981, 2, 2)
ANN, BOB = "plain§Ann", "plain§Bob"


@pytest.fixture
def engine(clinic: Engine) -> Iterator[Engine]:
    Base.metadata.create_all(clinic)
    yield clinic
    Base.metadata.drop_all(clinic)


@pytest.fixture
def ward(engine: Engine) -> Iterator[Session]:
    with Session(engine) as session:
        yield session


def found(session: Session, name: str, born: date) -> list[int]:
    return list(
        session.scalars(select(Patient.id).where(equal_together(Patient, "whole", {"name": name, "born": born})))
    )


def _changed(session: Session) -> None:
    session.add(Patient(id=1, name=ANN, born=BORN))
    session.commit()
    session.get_one(Patient, 1).name = BOB
    session.commit()


def _changed_unloaded(session: Session) -> None:
    session.add(Patient(id=1, name=ANN, born=BORN))
    session.commit()
    patient = session.scalars(select(Patient)).one()
    session.expire(patient, ["born"])
    patient.name = BOB
    session.flush()


def _upsert(session: Session, **set_: Any) -> None:
    session.execute(insert(Patient).values(id=1, name=ANN, born=BORN))
    match session.get_bind().dialect.name:
        case "sqlite":
            lite = sqlite.insert(Patient).values(id=1, name=BOB, born=BORN)
            new = {"name": lite.excluded.name, "born": lite.excluded.born}
            session.execute(lite.on_conflict_do_update(index_elements=["id"], set_=set_ or new))
        case "postgresql":
            pg = postgresql.insert(Patient).values(id=1, name=BOB, born=BORN)
            new = {"name": pg.excluded.name, "born": pg.excluded.born}
            session.execute(pg.on_conflict_do_update(index_elements=["id"], set_=set_ or new))
        case _:
            maria = mysql.insert(Patient).values(id=1, name=BOB, born=BORN)
            new = {"name": maria.inserted.name, "born": maria.inserted.born}
            session.execute(maria.on_duplicate_key_update(**(set_ or new)))


# After each, row 1 has BOB and BORN.
WAYS: dict[str, Callable[[Session], Any]] = {
    "add": lambda s: (s.add(Patient(id=1, name=BOB, born=BORN)), s.flush()),
    "changed attribute": _changed,
    "changed attribute, the other not loaded": _changed_unloaded,
    "insert with a list": lambda s: s.execute(
        insert(Patient), [{"id": 1, "name": BOB, "born": BORN}, {"id": 2, "name": ANN, "born": BORN}]
    ),
    "insert of several values": lambda s: s.execute(
        insert(Patient).values([{"id": 1, "name": BOB, "born": BORN}, {"id": 2, "name": ANN, "born": LATER}])
    ),
    "core insert": lambda s: s.execute(T.insert().values(id=1, name=BOB, born=BORN)),
    "core insert of parameters": lambda s: s.execute(T.insert(), {"id": 1, "name": BOB, "born": BORN}),
    "insert with bindparam": lambda s: s.execute(
        T.insert().values(id=bindparam("i"), name=bindparam("n"), born=BORN), [{"i": 1, "n": BOB}, {"i": 2, "n": ANN}]
    ),
    "update of all parts": lambda s: (
        s.execute(insert(Patient).values(id=1, name=ANN, born=LATER)),
        s.execute(update(Patient).where(Patient.id == 1).values(name=BOB, born=BORN)),
    ),
    "bulk update": lambda s: (
        s.execute(insert(Patient).values(id=1, name=ANN, born=LATER)),
        s.execute(update(Patient), [{"id": 1, "name": BOB, "born": BORN}]),
    ),
    "core update of a list": lambda s: (
        s.execute(insert(Patient), [{"id": 1, "name": ANN, "born": LATER}, {"id": 2}]),
        s.connection().execute(
            T.update().where(T.c.id == bindparam("i")).values(name=bindparam("n"), born=bindparam("b")),
            [{"i": 1, "n": BOB, "b": BORN}, {"i": 2, "n": ANN, "b": BORN}],
        ),
    ),
    "upsert by the new row": _upsert,
    "upsert by plain values": lambda s: _upsert(s, name=BOB, born=BORN),
    "insert, then the second part": lambda s: (
        s.add(one := Patient(id=1, name=BOB)),
        s.flush(),
        setattr(one, "born", BORN),
        s.flush(),
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_writing_keeps_the_terms_of_all_parts(ward: Session, opened: OpenedVault, way: str) -> None:
    WAYS[way](ward)
    assert found(ward, "PLAIN§BOB", BORN) == [1]
    assert found(ward, ANN, BORN) in ([], [2])
    plan = plan_of(T)
    assert plan is not None
    raw = raw_table(T)
    for row in ward.execute(select(raw)).mappings():
        values = {name: opened.field(plan.sealed[name].definition).open(row[name]) for name in ("name", "born")}
        for compound in plan.compounds:
            (term,) = opened.compound(compound.definition).terms([[values["name"], values["born"]]])
            stored = row[f"{compound.declared.name}_a"]
            assert (None if stored is None else bytes(stored)) == term
            assert row[f"{compound.declared.name}_b"] is None


def test_a_part_that_becomes_null_takes_the_term_with_it(ward: Session) -> None:
    ward.execute(insert(Patient).values(id=1, name=ANN, born=BORN))
    ward.execute(update(Patient).where(Patient.id == 1).values(name=None))
    assert ward.scalar(select(T.c.whole_a)) is None
    ward.add(Patient(id=2, name=ANN, born=BORN))
    ward.flush()


REFUSED: dict[str, tuple[Callable[[Session], Any], str]] = {
    "update of one part": (
        lambda s: s.execute(update(Patient).where(Patient.id == 1).values(name=ANN)),
        "give born in the same UPDATE",
    ),
    "bulk update of one part": (
        lambda s: s.execute(update(Patient), [{"id": 1, "name": ANN}]),
        "give born in the same UPDATE",
    ),
    "upsert of one part": (lambda s: _upsert(s, name=ANN), "sets all of name, born"),
    "its term": (lambda s: s.execute(insert(Patient).values(id=1, whole_a=b"x")), "filled from its sealed column"),
    "a truncated one by an operator": (
        lambda s: s.execute(select(Patient.id).where(equal_together(Patient, "rough", {"name": ANN, "born": 1980}))),
        r"find_all\(\)",
    ),
    "one part of the question": (lambda s: equal_together(Patient, "whole", {"name": ANN}), "each of its columns"),
    "NULL in the question": (
        lambda s: equal_together(Patient, "whole", {"name": ANN, "born": None}),
        "each of its columns",
    ),
}


@pytest.mark.parametrize("way", REFUSED)
def test_what_would_leave_a_wrong_term_is_refused(ward: Session, way: str) -> None:
    make, said = REFUSED[way]
    with pytest.raises(SealedColumnError, match=said) as refusal:
        make(ward)
    assert "§" not in str(refusal.value)


def test_a_truncated_index_over_parts_finds_and_compares(ward: Session) -> None:
    ward.add_all([Patient(id=n, name=f"plain§{n % 20}", born=date(1980 + n % 3, 1, 1 + n % 28)) for n in range(120)])
    ward.flush()
    for name, when in (("PLAIN§7", 1980), ("plain§7", "1981"), ("plain§7", date(1982, 12, 31))):
        wanted = [n for n in range(120) if n % 20 == 7 and str(1980 + n % 3) == str(when)[:4]]
        assert [
            p.id for p in find_all(ward, Patient, by={"rough": {"name": name, "born": when}}, rows_a_page=2)
        ] == wanted


def test_an_alias_is_asked_too(ward: Session) -> None:
    ward.add(Patient(id=1, name=ANN, born=BORN))
    ward.flush()
    other = aliased(Patient)
    asked = equal_together(other, "whole", {"name": ANN, "born": BORN})
    assert ward.scalars(select(other.id).where(asked)).all() == [1]


def test_a_conflict_on_the_index_is_named_by_it(quick: Engine) -> None:
    Base.metadata.create_all(quick)
    with Session(quick) as session:
        session.add(Patient(id=1, ward=1, name=ANN, born=BORN))
        session.flush()
        again = sqlite.insert(Patient).values(id=2, ward=2, name=ANN, born=BORN)
        session.execute(again.on_conflict_do_update(index_elements=["whole"], set_={"ward": again.excluded.ward}))
        assert session.execute(select(Patient.id, Patient.ward)).all() == [(1, 2)]
        with pytest.raises(SealedColumnError, match="rough is not unique"):
            session.execute(again.on_conflict_do_nothing(index_elements=["rough"]))


def test_an_upsert_takes_all_parts_of_one_row(quick: Engine) -> None:
    Base.metadata.create_all(quick)
    again = sqlite.insert(Patient).values(id=1, name=BOB, born=BORN)
    for mixed in ({"name": again.excluded.name, "born": LATER}, {"name": again.excluded.name}, {"born": LATER}):
        with (
            Session(quick) as session,
            pytest.raises(SealedColumnError, match="sets all of name, born, each to the new"),
        ):
            session.execute(again.on_conflict_do_update(index_elements=["id"], set_=mixed))


def _table(*items: Any) -> Table:
    return Table("t", MetaData(), Column("id", Integer, primary_key=True), *items)


def _name(**options: Any) -> "Column[Any]":
    return Column("name", Sealed(Text), **options)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: _table(_name(), CompoundIndex("i", "name")), "over 2 to 16 columns"),
        (lambda: _table(_name(), CompoundIndex("i", "name", "name")), "each named once"),
        (lambda: _table(_name(), CompoundIndex("i", "name", "id")), "over id, which is no sealed column"),
        (lambda: _table(_name(), CompoundIndex("i", "name", "nobody")), "over nobody, which is no sealed column"),
        (
            lambda: _table(_name(), Column("n", Sealed(Integer)), CompoundIndex("i", "name", ("n", digits))),
            "digits/1 is for text",
        ),
        (
            lambda: _table(_name(), Column("n", Sealed(Text)), CompoundIndex("i", "name", "n", bits=9, unique=True)),
            "unique=True needs a full-length index",
        ),
        (
            lambda: _table(Column("a", Sealed(Boolean)), Column("b", Sealed(Boolean)), CompoundIndex("i", "a", "b")),
            "has 4 values at most",
        ),
        (
            lambda: _table(_name(), Column("n", Sealed(Text)), Column("i_b", Text), CompoundIndex("i", "name", "n")),
            "needs the name i_b",
        ),
        (lambda: CompoundIndex("i", "a", "b", bits=0), "1 to 256 bits"),
    ],
)
def test_a_declaration_that_cannot_work_is_refused(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        make()


def test_k06_04_a_copied_table_keeps_its_indexes(opened: OpenedVault) -> None:
    table = _table(CompoundIndex("i", "name", "n", bits=12), _name(), Column("n", Sealed(Text, index=BlindIndex())))
    copy = table.to_metadata(MetaData(), name="u")
    plan = plan_of(copy)
    assert plan is not None
    assert [(one.definition.table, one.definition.bits) for one in plan.compounds] == [("u", 12)]
    assert [column.name for column in copy.c] == ["id", "name", "n", "n_bidx_a", "n_bidx_b", "i_a", "i_b"]
    engine = create_engine("sqlite://")
    attach(engine, opened)
    copy.create(engine)
    with engine.begin() as connection:
        connection.execute(insert(copy).values(id=1, name=ANN, n=BOB))
        assert [row["id"] for row in find_all(connection, copy, by={"i": {"name": ANN, "n": BOB}})] == [1]


def test_an_index_that_is_declared_otherwise_later_is_refused(opened: OpenedVault) -> None:
    metadata = MetaData()
    Table(
        "d",
        metadata,
        Column("id", Integer, primary_key=True),
        _name(),
        Column("n", Sealed(Text)),
        CompoundIndex("i", "name", "n"),
    )
    again = MetaData()
    Table(
        "d",
        again,
        Column("id", Integer, primary_key=True),
        _name(),
        Column("n", Sealed(Text)),
        CompoundIndex("i", "n", "name"),
    )
    attach(create_engine("sqlite://"), opened, metadata)
    attach(create_engine("sqlite://"), opened, metadata)
    with pytest.raises(
        IndexChangedError, match=r"compound index d\.i is not defined as its terms were made: recorded name"
    ):
        attach(create_engine("sqlite://"), opened, again)


def test_a_value_that_cannot_be_indexed_names_its_row(ward: Session) -> None:
    rows = [{"id": n, "name": ANN, "born": BORN} for n in range(3)]
    rows[1]["name"] = "\u0378"
    with pytest.raises(InvalidValueError, match=r"ward_patient\.name, row 1 of the batch"):
        ward.execute(insert(Patient), rows)
