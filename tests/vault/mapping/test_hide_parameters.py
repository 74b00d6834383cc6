"""No error, log or repr shows what was passed."""

import logging
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Column, Engine, Integer, MetaData, String, Table, Text, bindparam, insert, select, text
from sqlalchemy.exc import DBAPIError, IntegrityError, StatementError
from sqlalchemy.orm import Session

from tests.vault.mapping.clinic import Person
from vault import SealedColumnError, attach
from vault.mapping import Sealed
from vault.opened import OpenedVault
from vault.terms.term import BlindIndex

pytestmark = pytest.mark.databases_in_turn

SECRET = "s3cr3t-∆"


@pytest.fixture
def strict(database_url: str, opened: OpenedVault) -> Iterator[tuple[Engine, Table]]:
    """A table with a unique and a not-null field, on an engine that echoes."""
    table = Table(
        "secrets",
        MetaData(),
        Column("id", Integer, primary_key=True),
        Column("code", Sealed(Text, index=BlindIndex(), unique=True, table="hide_secrets"), nullable=False),
        Column("plain", String(3)),
    )
    from sqlalchemy import create_engine

    engine = create_engine(database_url, echo=True)
    attach(engine, opened)
    table.metadata.create_all(engine)
    yield engine, table
    engine.dispose()


def _everything(error: BaseException) -> str:
    """All that a log, a tracker or a person could be shown of an error."""
    shown = "".join(traceback.format_exception(error))
    while error is not None:
        shown += str(error) + repr(error) + repr(vars(error)) + repr(error.args)
        error = error.__cause__ or error.__context__  # type: ignore[assignment]
    return shown


BREAKS: dict[str, Callable[[Any, Table], Any]] = {
    "unique": lambda c, t: c.execute(t.insert(), {"id": 2, "code": SECRET}),
    "unique in values": lambda c, t: c.execute(t.insert().values(id=2, code=SECRET)),
    "unique among many": lambda c, t: c.execute(t.insert(), [{"id": 2, "code": "other"}, {"id": 3, "code": SECRET}]),
    "not null beside it": lambda c, t: c.execute(t.insert(), [{"id": 2, "code": None}]),
    "not null by update": lambda c, t: c.execute(t.update().where(t.c.code == SECRET).values(code=None)),
}


@pytest.mark.parametrize("way", BREAKS)
def test_k14_01_a_broken_rule_names_table_and_field_and_shows_no_value(
    strict: tuple[Engine, Table], caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    engine, table = strict
    caplog.set_level(logging.INFO)
    with engine.begin() as connection:
        connection.execute(table.insert().values(id=1, code=SECRET))
    with pytest.raises(IntegrityError) as broken, engine.begin() as connection:
        BREAKS[way](connection, table)
    logging.getLogger("app").error("failed", exc_info=broken.value)
    shown = _everything(broken.value) + caplog.text + "".join(capsys.readouterr())
    assert "secrets" in str(broken.value)
    assert "code" in str(broken.value)
    assert "INSERT INTO secrets" in shown
    for part in (SECRET, ascii(SECRET), "s3cr3t"):
        assert part not in shown


ERRORS: dict[str, Callable[[Session], Any]] = {
    "missing parameter": lambda s: s.connection().execute(
        insert(Person.__table__), [{"id": 1, "ssn": SECRET}, {"id": 2}]
    ),
    "missing bindparam": lambda s: s.execute(
        select(Person.id).where(Person.ssn == SECRET, Person.name == bindparam("x"))
    ),
    "unknown column": lambda s: s.execute(insert(Person.__table__).values(id=1, ssn=SECRET, nothing=SECRET)),
    "driver refuses": lambda s: s.execute(insert(Person), [{"id": 1, "ssn": SECRET, "name": {}}]),
    "a value of another type": lambda s: s.execute(insert(Person), [{"id": 1, "age": SECRET}]),
    "asked by another type": lambda s: s.execute(select(Person.id).where(Person.age == SECRET)),
    "named parameter": lambda s: s.execute(
        select(Person.id).where(Person.ssn == bindparam("x"), text("nothing = 1")), {"x": SECRET}
    ),
    "flush": lambda s: (s.add(Person(id=1, ssn=SECRET, age="x" + SECRET)), s.flush()),
    "flush of a plain column": lambda s: (s.add(Person(id=1, ssn=SECRET, name={})), s.flush()),
}


@pytest.mark.parametrize("way", ERRORS)
def test_no_error_on_the_way_shows_a_value(session: Session, caplog: pytest.LogCaptureFixture, way: str) -> None:
    caplog.set_level(logging.INFO)
    with pytest.raises(Exception) as failure:
        ERRORS[way](session)
    frames_hide = "".join(traceback.format_exception_only(failure.value)) + "".join(
        repr(vars(e)) + str(e)
        for e in (failure.value, failure.value.__cause__, failure.value.__context__)
        if e is not None
    )
    assert "s3cr3t" not in frames_hide + caplog.text


def test_an_engine_without_a_vault_keeps_its_messages(tmp_path: Any) -> None:
    from sqlalchemy import create_engine

    engine = create_engine(f"sqlite:///{tmp_path / 'x.db'}")
    with pytest.raises(DBAPIError, match="visible"), engine.connect() as connection:
        connection.execute(text("SELECT :x FROM nothing"), {"x": "visible"})
    engine.dispose()


def test_rows_are_not_logged(session: Session, caplog: pytest.LogCaptureFixture) -> None:
    session.add(Person(id=1, ssn=SECRET))
    session.commit()
    session.close()
    caplog.set_level(logging.DEBUG, "sqlalchemy.engine")
    with pytest.raises(SealedColumnError, match="echo=True"):
        session.scalars(select(Person.ssn)).all()
    assert session.scalars(select(Person.id).where(Person.name.is_(None))).all() == [1]
    session.execute(insert(Person).values(id=2, ssn=SECRET))
    assert "s3cr3t" not in caplog.text


def test_parameters_are_gone_from_the_error_object(session: Session) -> None:
    with pytest.raises(StatementError) as failure:
        session.execute(text("SELECT :x FROM nothing"), {"x": SECRET})
    assert failure.value.params is None
    assert failure.value.hide_parameters
