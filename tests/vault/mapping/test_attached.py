"""Whose keys serve an engine."""

import gc
import weakref

import pytest
from sqlalchemy import Engine, create_engine, insert, select, text
from sqlalchemy.orm import Session

from tests.vault.mapping.clinic import Base, Person
from tests.vault.mapping.driver_spy import DriverSpy
from vault import attach
from vault.errors import SealedColumnError
from vault.mapping.attached import attached_to, field_for
from vault.opened import OpenedVault

P = Person.__table__


def test_the_field_of_an_engine_is_one_object(quick: Engine) -> None:
    owner = P.c.ssn.type.owner
    assert field_for(quick.dialect, owner) is field_for(quick.dialect, owner)


def test_an_engine_is_served_by_one_vault(quick: Engine, opened: OpenedVault) -> None:
    attach(quick, opened)
    with pytest.raises(SealedColumnError, match="another vault"):
        attach(quick, OpenedVault(opened.keyring, opened.key_store))


def test_options_of_an_engine_keep_its_vault(quick: Engine) -> None:
    with quick.execution_options(logging_token="t").begin() as connection:
        connection.execute(insert(P).values(id=1, ssn="plain§a"))
        assert connection.scalar(select(P.c.ssn)) == "plain§a"


def test_an_engine_that_nobody_attached_refuses_and_sends_nothing(tmp_path: object, opened: OpenedVault) -> None:
    spy = DriverSpy()
    engine = spy.engine(f"sqlite:///{tmp_path}/x.db")
    Base.metadata.create_all(engine)
    spy.sent.clear()
    with Session(engine) as session:
        for statement in (
            insert(P).values(id=1, ssn="plain§a"),
            insert(P).values(id=1, ssn=None),
            select(P.c.ssn),
            select(Person),
            select(P.c.id).where(P.c.ssn == "plain§a"),
            select(P.c.id).where(P.c.ssn.is_(None)),
        ):
            with pytest.raises(SealedColumnError, match=r"vault\.attach\(engine, opened\)"):
                session.execute(statement)
        session.execute(insert(P).values(id=1, name="n"))
        assert session.scalars(select(P.c.name)).all() == ["n"]
    assert not [sql for sql, _ in spy.sent if "ssn" in sql.split("RETURNING")[0].split("(")[0]]
    assert not spy.saw_plaintext()
    attach(engine, opened)
    with Session(engine) as session:
        session.execute(insert(P).values(id=2, ssn="plain§a"))
        assert session.scalars(select(P.c.id).where(P.c.ssn == "plain§a")).all() == [2]
        assert session.execute(text("SELECT count(*) FROM person")).scalar_one() == 1
    engine.dispose()


def test_an_association_ends_with_its_engine(opened: OpenedVault) -> None:
    engine = create_engine("sqlite://")
    attach(engine, opened)
    dialect = weakref.ref(engine.dialect)
    assert attached_to(engine.dialect) is not None
    engine.dispose()
    del engine
    gc.collect()
    assert dialect() is None
