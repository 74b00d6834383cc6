"""The column type: what it reads, what it lets through, what it shows."""

import copy
import uuid
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    DateTime,
    Engine,
    Enum,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    String,
    Table,
    Text,
    Uuid,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from kms import Purpose
from tests.vault.mapping.clinic import Employee, Person
from tests.vault.mapping.conftest import new_vault
from vault import attach
from vault.errors import (
    CannotOpenError,
    DefinitionError,
    FieldError,
    NotSealedError,
    SealedColumnError,
    UnknownKeyError,
)
from vault.mapping import Sealed, definition_of
from vault.opened import OpenedVault
from vault.terms.term import BlindIndex

pytestmark = pytest.mark.databases_in_turn

P = Person.__table__


def test_k01_01_null_empty_and_blank_are_three_values(session: Session) -> None:
    session.execute(insert(Employee), [{"id": n, "name": "n", "plan": "plain§"} for n in (1, 2, 3, 4)])
    session.add_all([Person(id=1, ssn=None), Person(id=2, ssn=""), Person(id=3, ssn=" "), Person(id=4, ssn="None")])
    session.commit()
    assert session.scalars(select(Person.ssn).order_by(Person.id)).all() == [None, "", " ", "None"]
    assert session.scalars(text("SELECT id FROM person WHERE ssn IS NULL")).all() == [1]
    for ask, found in (
        (Person.ssn == "", [2]),
        (Person.ssn == " ", [3]),
        (Person.ssn == "None", [4]),
        (Person.ssn.is_(None), [1]),
        (Person.ssn == None, [1]),  # noqa: E711
    ):
        assert session.scalars(select(Person.id).where(ask)).all() == found


KINDS: list[tuple[Any, list[Any]]] = [
    (Text, ["", "plain§", "é\0😀", "x" * 100_000]),
    (String(5), ["", "plain"]),
    (Integer, [0, -1, 2**63 - 1, -(2**63)]),
    (BigInteger, [2**40]),
    (Float, [0.0, -0.0, 1e308, float("inf")]),
    (LargeBinary, [b"", b"\0" * 100, bytes(range(256))]),
    (Uuid, [uuid.UUID(int=2**127)]),
]


@pytest.mark.parametrize(("kind", "values"), KINDS, ids=lambda part: str(part)[:30])
def test_every_kind_of_value_comes_back_as_it_was(quick: Engine, kind: Any, values: list[Any]) -> None:
    name = f"kind_{type(values[-1]).__name__}_{len(values)}"
    table = Table(
        name, MetaData(), Column("id", Integer, primary_key=True), Column("x", Sealed(kind, index=BlindIndex()))
    )
    table.metadata.create_all(quick)
    with quick.begin() as connection:
        connection.execute(insert(table), [{"x": value} for value in [*values, None]])
        assert connection.scalars(select(table.c.x).order_by(table.c.id)).all() == [*values, None]
        assert all(connection.scalars(select(table.c.x).where(table.c.x == value)).first() == value for value in values)


def test_k08_01_a_value_moved_to_another_column_does_not_open(session: Session) -> None:
    session.add(Person(id=1, ssn="plain§a", note="plain§b"))
    session.commit()
    session.execute(text("UPDATE person SET note = ssn"))
    with pytest.raises(CannotOpenError, match=r"person\.note: does not authenticate under key [0-9a-f]{8}"):
        session.execute(select(Person.note)).all()
    assert session.scalars(select(Person.ssn)).all() == ["plain§a"]


def test_what_is_not_sealed_is_not_read(session: Session) -> None:
    session.add(Person(id=1, ssn="plain§a"))
    session.commit()
    session.execute(update(P).where(P.c.id == 1).values(name="n"))
    session.execute(text("UPDATE person SET ssn = :x").bindparams(x=b"a plain value that someone pasted in"))
    with pytest.raises(NotSealedError, match=r"person\.ssn"):
        session.execute(select(Person.ssn)).all()
    assert session.scalars(select(Person.id)).all() == [1]


def test_k10_01_another_key_and_an_unknown_key_are_two_errors(
    quick: Engine, opened: OpenedVault, tmp_path: Path
) -> None:
    with Session(quick) as session:
        session.add(Person(id=1, note="plain§x"))
        session.commit()
        sealed = bytes(session.scalar(text("SELECT note FROM person")))
        key_id = opened.keyring.sealing(Purpose.DATA).key.key_id
        other = new_vault(tmp_path)
        stranger = other.field(definition_of(P.c.note)).seal("plain§x") or b""
        session.execute(text("UPDATE person SET note = :x").bindparams(x=stranger))
        with pytest.raises(UnknownKeyError, match=rf"person\.note: names key {stranger[2:6].hex()}") as unknown:
            session.execute(select(Person.note)).all()
        session.execute(text("UPDATE person SET note = :x").bindparams(x=sealed[:6] + stranger[6:]))
        with pytest.raises(
            CannotOpenError, match=rf"person\.note: does not authenticate under key {key_id.hex()}"
        ) as wrong:
            session.execute(select(Person.note)).all()
    other.close()
    assert not isinstance(unknown.value, CannotOpenError)
    assert not isinstance(wrong.value, UnknownKeyError)
    assert all(isinstance(error.value, FieldError) and "§" not in str(error.value) for error in (unknown, wrong))


def test_the_bind_processor_lets_only_sealed_bytes_through(opened: OpenedVault) -> None:
    check = P.c.ssn.type.bind_processor(sqlite.dialect())
    sealed = opened.field(definition_of(P.c.ssn)).seal("plain§a")
    assert check(sealed) is sealed
    assert check(None) is None
    for value in ("plain§a", b"plain", b"", 9173, b"\x01" + b"\0" * 33, b"\x02" * 60, bytearray(sealed or b"")):
        with pytest.raises(SealedColumnError, match=r"person\.ssn is not sealed") as refusal:
            check(value)
        assert "§" not in str(refusal.value)


def test_k06_04_the_type_is_hashable_and_shows_no_key(opened: OpenedVault) -> None:
    kind = P.c.email.type
    assert len({kind, copy.copy(kind), kind.copy()}) == 3
    assert (
        repr(kind) == "Sealed(String(length=60), index=(BlindIndex(normaliser=Normaliser(id='casefold/1'), bits=256, "
        "name='bidx'),), unique=True)"
    )
    raw = opened.keyring.sealing(Purpose.DATA).key.secret.raw
    assert raw.hex() not in repr(kind) + repr(P) + repr(kind._static_cache_key)


def test_the_column_is_sized_for_each_database() -> None:
    def ddl(kind: Any, dialect: Any) -> str:
        return str(Sealed(kind).compile(dialect=dialect))

    assert ddl(Text, sqlite.dialect()) == "BLOB"
    assert ddl(Text, postgresql.dialect()) == "BYTEA"
    assert ddl(Text, mysql.dialect()) == "LONGBLOB"
    assert ddl(String(60), mysql.dialect()) == "VARBINARY(274)"
    assert ddl(Integer, mysql.dialect()) == "VARBINARY(42)"


def test_the_type_outside_of_a_column_reads_and_asks_nothing() -> None:
    loose = Sealed(Text, index=BlindIndex())
    with pytest.raises(SealedColumnError, match="outside a table"):
        loose.result_processor(sqlite.dialect(), None)(b"x")
    with pytest.raises(SealedColumnError, match="outside a table"):
        _ = Column("x", loose) == "plain§a"


def test_memoryviews_from_a_driver_are_opened(quick: Engine, opened: OpenedVault) -> None:
    sealed = opened.field(definition_of(P.c.ssn)).seal("plain§a")
    assert sealed is not None
    assert P.c.ssn.type.result_processor(quick.dialect, None)(memoryview(sealed)) == "plain§a"


def test_a_second_engine_of_another_vault_cannot_read(tmp_path: Path, opened: OpenedVault) -> None:
    from sqlalchemy import create_engine

    url = f"sqlite:///{tmp_path / 'x.db'}"
    mine, theirs = create_engine(url), create_engine(url)
    (tmp_path / "other").mkdir()
    other = new_vault(tmp_path / "other")
    attach(mine, opened)
    attach(theirs, other)
    P.create(mine)
    with mine.begin() as connection:
        connection.execute(insert(P).values(id=1, ssn="plain§a"))
    with theirs.connect() as connection:
        assert connection.scalars(select(P.c.id).where(P.c.ssn == "plain§a")).all() == []
        with pytest.raises(UnknownKeyError):
            connection.scalars(select(P.c.ssn)).all()
    for engine in (mine, theirs, other.key_store.engine):
        engine.dispose()


class Local(DeclarativeBase):
    pass


class Spelled(Local):
    """Values that are equal to Python and stored otherwise."""

    __tablename__ = "spelled"
    id: Mapped[int] = mapped_column(primary_key=True)
    amount: Mapped[Decimal | None] = mapped_column(Sealed(Numeric, index=BlindIndex()))
    weight: Mapped[float | None] = mapped_column(Sealed(Float))
    seen: Mapped[datetime | None] = mapped_column(Sealed(DateTime(timezone=True)))
    chart: Mapped[Any | None] = mapped_column(Sealed(JSON))
    ink: Mapped[str | None] = mapped_column(Sealed(Enum("red", "blue")))


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("amount", Decimal("1.0"), Decimal("1.00")),
        ("amount", Decimal(0), Decimal("-0")),
        ("weight", -0.0, 0.0),
        ("seen", datetime.fromisoformat("2031-01-01T12:00+00:00"), datetime.fromisoformat("2031-01-01T13:00+01:00")),
        ("chart", {"a": [1]}, {"a": [True]}),
        ("chart", {"a": 1}, {"a": 1.0}),
    ],
)
def test_a_change_to_an_equal_value_that_is_spelled_otherwise_is_written(
    quick: Engine, name: str, before: object, after: object
) -> None:
    assert before == after
    Local.metadata.create_all(quick)
    with Session(quick) as session:
        session.add(Spelled(id=1, **{name: before}))
        session.commit()
        setattr(session.get_one(Spelled, 1, populate_existing=True), name, after)
        session.commit()
        session.expunge_all()
        assert repr(getattr(session.get_one(Spelled, 1), name)) == repr(after)


def test_a_change_to_the_same_value_is_not_written() -> None:
    columns = Spelled.__table__.c
    assert columns.chart.type.compare_values({"b": 1, "a": (1,)}, {"a": (1,), "b": 1})
    assert columns.amount.type.compare_values(Decimal("1.0"), Decimal("1.0"))
    assert columns.ink.type.compare_values("red", "red")
    assert columns.amount.type.compare_values(None, None)
    assert not columns.amount.type.compare_values(None, Decimal(0))
    assert not columns.chart.type.compare_values({"a": {1}}, {"a": {1}})
    assert not columns.ink.type.compare_values("green", "gr" + "een"[:3])


def test_a_sealed_type_has_no_variant_that_a_database_would_be_sent_in_plain() -> None:
    with pytest.raises(DefinitionError, match="sealed on every database"):
        Sealed(Text).with_variant(Text(), "sqlite")
