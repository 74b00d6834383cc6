"""Cases as they are met in public of like products, through the ORM, on each database."""

import os
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import (
    Engine,
    LargeBinary,
    StaticPool,
    String,
    Text,
    create_engine,
    inspect,
    lambda_stmt,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from tests.vault.mapping.conftest import new_vault
from vault import BlindIndex, CannotOpenError, Sealed, attach, casefold, digits, find_all
from vault.errors import InvalidValueError, NotSealedError, UnknownGenerationError
from vault.opened import OpenedVault
from vault.rows.raw_table import raw_table

pytestmark = pytest.mark.databases_in_turn


class Base(DeclarativeBase):
    pass


class Member(Base):
    __tablename__ = "member"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str | None] = mapped_column(Sealed(Text, index=BlindIndex(casefold), unique=True))
    code: Mapped[str | None] = mapped_column(Sealed(Text, index=BlindIndex()))
    number: Mapped[str | None] = mapped_column(Sealed(Text, index=BlindIndex(digits)))
    essay: Mapped[str | None] = mapped_column(Sealed(String(20_000)))
    photo: Mapped[bytes | None] = mapped_column(Sealed(LargeBinary(70_000)))


RAW = raw_table(Member.__table__)


@pytest.fixture
def members(clinic: Engine) -> Iterator[Session]:
    Base.metadata.create_all(clinic)
    with Session(clinic) as session:
        yield session
    Base.metadata.drop_all(clinic)


def ids(session: Session, condition: Any) -> list[int]:
    return sorted(session.scalars(select(Member.id).where(condition)))


class Labelled(str):
    __slots__ = ()


def test_k03_own_1_kinds_of_str_are_found_on_either_side_and_in_arrays(members: Session) -> None:
    """numpy compares first when it stands on the left; an array is a list of values, and never one value."""
    members.add_all([Member(id=1, code="plain§zo\u00eb"), Member(id=2, code=np.str_("plain§x")), Member(id=3)])
    members.flush()
    zoe = "plain§zo\u00eb"
    for kind in (str, np.str_, Labelled):
        assert ids(members, Member.code == kind(zoe)) == [1]
        assert ids(members, kind(zoe) == Member.code) == [1]
        assert ids(members, kind(zoe) != Member.code) == [2]
    for kind in (str, object):
        assert ids(members, Member.code.in_(np.array([zoe, "plain§x"], dtype=kind))) == [1, 2]
    for wrong in (zoe.encode(), bytearray(zoe.encode()), np.array([zoe]), 5):
        with pytest.raises(InvalidValueError, match=r"member\.code: str/1 holds str, not"):
            ids(members, Member.code == wrong)


def test_k03_own_2_a_new_spelling_replaces_the_old_and_is_nobodys_duplicate_but_its_own(members: Session) -> None:
    """A change of the spelling alone is written (the term stays), on every way; another row's is not."""
    members.add_all([Member(id=1, name="plain§Zo\u00eb"), Member(id=2, name="plain§Ann")])
    members.commit()

    def by_attribute(name: str) -> None:
        members.get_one(Member, 1).name = name

    ways: list[Callable[[str], Any]] = [
        by_attribute,
        lambda name: members.execute(update(Member).where(Member.id == 1).values(name=name)),
        lambda name: members.execute(update(Member), [{"id": 1, "name": name}]),
        lambda name: members.merge(Member(id=1, name=name)),
    ]
    term = members.connection().scalar(select(RAW.c.name_bidx_a).where(RAW.c.id == 1))
    for way, name in zip(ways, ("plain§ZO\u00cb", "plain§zoe\u0308", "PLAIN§zo\u00cb", "plain§zo\u00eb"), strict=True):
        way(name)
        members.commit()
        found = members.execute(select(Member.id, Member.name).where(Member.name == "PLAIN§ZOE\u0308")).all()
        assert found == [(1, name)]
        assert members.connection().scalar(select(RAW.c.name_bidx_a).where(RAW.c.id == 1)) == term
    assert ids(members, Member.name.in_(["plain§ZO\u00cb", "plain§zoe\u0308", "plain§ann", "plain§"])) == [1, 2]
    members.get_one(Member, 2).name = "plain§ZOE\u0308"
    with pytest.raises(IntegrityError):
        members.flush()


def test_k03_own_3_values_of_which_nothing_is_left_are_not_all_one_value(members: Session) -> None:
    """What has no digit would be the empty text, and "n/a" find "unknown"."""
    for value in ("plain§n/a", "plain§", "\u0661\u0662\u0663"):
        with pytest.raises(InvalidValueError, match=r"member\.number.*digits/1"):
            members.connection().execute(Member.__table__.insert(), {"id": 1, "number": value})
        with pytest.raises(InvalidValueError, match=r"member\.number.*digits/1"):
            ids(members, Member.number == value)
    members.execute(Member.__table__.insert(), [{"id": 1, "number": ""}, {"id": 2, "number": "plain§7"}])
    assert (ids(members, Member.number == ""), ids(members, Member.number == "7")) == ([1], [2])


def test_k05_04_own_1_every_way_of_writing_gives_one_term(members: Session) -> None:
    rows = iter(range(100, 200))

    def row() -> dict[str, Any]:
        return {"id": next(rows), "code": "plain§same"}

    none = {"id": 1, "code": None}
    members.add_all([Member(**row()) for _ in range(3)] + [Member(**none)])
    members.flush()
    members.bulk_insert_mappings(Member.__mapper__, [row(), {"id": 2, "code": None}, row()])
    members.bulk_save_objects([Member(**row()), Member(id=3, code=None)])
    members.merge(Member(**row()))
    members.flush()
    connection = members.connection()
    connection.execute(Member.__table__.insert().values([row(), {"id": 4, "code": None}, row()]))
    connection.execute(Member.__table__.insert(), [row(), {"id": 5, "code": None}, row()])
    if connection.dialect.insert_returning:
        inserted = Member.__table__.insert().returning(Member.__table__.c.code)
        assert {one.code for one in connection.execute(inserted, [row(), row()])} == {"plain§same"}
    stored = connection.execute(select(RAW.c.id, RAW.c.code, RAW.c.code_bidx_a)).all()
    assert len({one.code_bidx_a for one in stored if one.id >= 100}) == 1
    assert len({one.code for one in stored if one.id >= 100}) == sum(one.id >= 100 for one in stored) >= 11
    assert {(one.code, one.code_bidx_a) for one in stored if one.id < 100} == {(None, None)}


def test_k06_own_1_one_statement_serves_two_engines_with_two_vaults(clinic: Engine, tmp_path: Path) -> None:
    """The same statement object and the same lambda, by turns: each engine's own keys, none of the other's."""
    other_vault, other = new_vault(tmp_path), create_engine("sqlite://", poolclass=StaticPool)
    attach(other, other_vault)
    statement = select(Member.id, Member.code).where(Member.code == "plain§same")

    def by_lambda(value: str) -> Any:
        return lambda_stmt(lambda: select(Member.id).where(Member.code == value))

    engines = list(enumerate((clinic, other), 1))
    for number, engine in engines:
        Base.metadata.create_all(engine)
        with Session(engine) as session:
            session.add(Member(id=number, code="plain§same"))
            session.commit()
    for _ in range(20):
        for number, engine in engines:
            with Session(engine) as session:
                assert session.execute(statement).all() == [(number, "plain§same")]
                assert session.scalars(by_lambda("plain§same")).all() == [number]
                assert session.scalars(by_lambda("plain§other")).all() == []
    terms = set()
    for _, engine in engines:
        with engine.connect() as connection:
            terms.add(connection.scalar(select(RAW.c.code_bidx_a)))
    assert len(terms) == 2
    Base.metadata.drop_all(clinic)
    other.dispose()
    other_vault.close()


def test_k06_own_2_processes_forked_from_one_that_is_attached_write_and_ask(database_url: str, tmp_path: Path) -> None:
    """As of a server that loads the application before it forks its workers: one term, and never one nonce."""
    vault, engine = new_vault(tmp_path), create_engine(database_url)
    attach(engine, vault)
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        session.add(Member(id=0, code="plain§same"))
        session.commit()
        assert ids(session, Member.code == "plain§same") == [0]
    engine.dispose()
    children = [_forked(engine, number) for number in (100, 200, 300)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    with engine.connect() as connection:
        stored = connection.execute(select(RAW.c.code, RAW.c.code_bidx_a)).all()
    assert len(stored) == len({bytes(one.code)[6:18] for one in stored}) == 61
    assert len({bytes(one.code_bidx_a) for one in stored}) == 1
    engine.dispose()
    vault.close()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def _forked(engine: Engine, number: int) -> int:
    child = os.fork()
    if child:
        return child
    try:
        with Session(engine) as session:
            session.add_all([Member(id=number + n, code="plain§same") for n in range(20)])
            session.commit()
            assert len(ids(session, Member.code == "plain§same")) >= 21
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def test_k07_own_2_long_values_are_kept_whole_and_longer_ones_refused(members: Session) -> None:
    """80,000 bytes of text and 70,000 bytes are more than a BLOB of MariaDB has."""
    essay, photo = "\U0001f512" * 20_000, b"\xff" * 70_000
    members.add(Member(id=1, essay=essay, photo=photo))
    members.commit()
    member = members.get_one(Member, 1)
    assert (member.essay == essay, member.photo == photo) == (True, True)
    for wrong in ({"essay": essay + "x"}, {"photo": photo + b"x"}):
        with pytest.raises(InvalidValueError, match=r"20000|70000"):
            members.execute(update(Member).where(Member.id == 1).values(wrong))
    stored = {one["name"]: str(one["type"]) for one in inspect(members.connection()).get_columns("member")}
    if members.get_bind().dialect.name in {"mysql", "mariadb"}:
        assert {stored["essay"], stored["photo"]} <= {"MEDIUMBLOB", "LONGBLOB"}


DAMAGED: dict[str, tuple[Callable[[bytes], Any], type[Exception]]] = {
    "nothing": (lambda _: b"", NotSealedError),
    "the header alone": (lambda sealed: sealed[:18], NotSealedError),
    "cut": (lambda sealed: sealed[:-1], CannotOpenError),
    "longer": (lambda sealed: sealed + b"\0", CannotOpenError),
    "twice": (lambda sealed: sealed * 2, CannotOpenError),
    "another format": (lambda sealed: b"\2" + sealed[1:], NotSealedError),
    "another generation": (lambda sealed: sealed[:1] + b"\7" + sealed[2:], UnknownGenerationError),
    "another nonce": (lambda sealed: sealed[:6] + bytes(12) + sealed[18:], CannotOpenError),
    "its hex": (lambda sealed: sealed.hex().encode(), NotSealedError),
    "the value in plain": (lambda _: b"one", NotSealedError),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_k08_own_1_damaged_bytes_are_an_error_of_their_row_and_no_value(members: Session, damage: str) -> None:
    """Never the bytes as they are, an empty value, or None; other rows are read."""
    change, error = DAMAGED[damage]
    members.add_all([Member(id=1, code="plain§one"), Member(id=2, code="plain§two")])
    members.commit()
    connection = members.connection()
    sealed = connection.scalar(select(RAW.c.code).where(RAW.c.id == 1))
    connection.execute(update(RAW).where(RAW.c.id == 1).values(code=change(bytes(sealed))))
    members.commit()
    reads: list[Callable[[], Any]] = [
        lambda: members.get_one(Member, 1).code,
        lambda: members.scalars(select(Member.code).where(Member.id == 1)).all(),
        lambda: members.execute(select(Member.__table__).where(Member.code == "plain§one")).all(),
        lambda: find_all(members, Member, by={Member.code: "plain§one"}),
    ]
    for read in reads:
        with pytest.raises(error, match=r"^member\.code: "):
            list(read() or ())
        members.rollback()
    assert members.scalars(select(Member.code).where(Member.id == 2)).all() == ["plain§two"]


def test_k08_own_2_exchanged_terms_give_no_wrong_row_to_who_opens_and_compares(
    members: Session, opened: OpenedVault
) -> None:
    """A DBA exchanges the terms of two rows: find_all() gives neither; == trusts the term, as docs/leakage.md says."""
    members.add_all([Member(id=1, code="plain§one"), Member(id=2, code="plain§two")])
    members.commit()
    terms = dict(iter(members.connection().execute(select(RAW.c.id, RAW.c.code_bidx_a)).all()))
    for row, term in ((1, terms[2]), (2, terms[1])):
        members.connection().execute(update(RAW).where(RAW.c.id == row).values(code_bidx_a=term))
    members.commit()
    for value in ("plain§one", "plain§two"):
        assert list(find_all(members, Member, by={Member.code: value})) == []
    assert {one.id: one.code for one in members.scalars(select(Member))} == {1: "plain§one", 2: "plain§two"}
