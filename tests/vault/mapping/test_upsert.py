"""ON CONFLICT and ON DUPLICATE KEY with sealed columns: in SET, and as the target by their terms."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine, bindparam, func, select, text
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.exc import CompileError
from sqlalchemy.orm import Session

from tests.vault.mapping.clinic import Income, Person
from tests.vault.mapping.driver_spy import DriverSpy
from vault.errors import SealedColumnError
from vault.sealed.envelope import looks_sealed

P, T = Person.__table__, Income.__table__
KEY = uuid.UUID(int=1)


INSERTS = {"sqlite": sqlite.insert, "postgresql": postgresql.insert, "mariadb": mysql.insert}


def _insert(session: Session, target: Any) -> Any:
    return INSERTS[session.get_bind().dialect.name](target)


def _upsert(statement: Any, target: list[Any], **values: Any) -> Any:
    """values: plain ones, or functions of the row that was to be inserted. MariaDB finds the target by itself."""
    on_mariadb = isinstance(statement, mysql.Insert)
    new = statement.inserted if on_mariadb else statement.excluded
    given = {name: value(new) if callable(value) else value for name, value in values.items()}
    if on_mariadb:
        return statement.on_duplicate_key_update(given)
    return statement.on_conflict_do_update(index_elements=target, set_=given)


UPSERTS: dict[str, Callable[[Any], Any]] = {
    "excluded": lambda i: _upsert(i(P).values(id=1, ssn="plain§new"), [P.c.id], ssn=lambda new: new.ssn),
    "value": lambda i: _upsert(i(P).values(id=1, ssn="plain§x"), [P.c.id], ssn="plain§new"),
    "orm": lambda i: _upsert(i(Person).values(id=1, ssn="plain§x"), ["id"], ssn="plain§new"),
    "unique terms as target": lambda i: _upsert(
        i(P).values(id=9, email="plain§ANN", ssn="plain§new"), [P.c.email], ssn=lambda new: new.ssn
    ),
    "unique terms by attribute": lambda i: _upsert(
        i(Person).values(id=9, email="plain§ann", ssn="plain§new"), [Person.email], ssn=lambda new: new.ssn
    ),
    "several rows": lambda i: _upsert(
        i(P).values([{"id": 1, "ssn": "plain§new"}, {"id": 2, "ssn": "plain§2"}]), [P.c.id], ssn=lambda new: new.ssn
    ),
}


@pytest.mark.parametrize("way", UPSERTS)
def test_an_upsert_seals_both_sides_and_moves_the_terms_along(session: Session, way: str) -> None:
    session.add(Person(id=1, ssn="plain§old", email="plain§ann"))
    session.commit()
    for _ in range(2):
        session.execute(UPSERTS[way](lambda target: _insert(session, target)))
        session.commit()
    assert looks_sealed(bytes(session.scalar(text("SELECT ssn FROM person WHERE id = 1"))))
    assert session.scalars(select(Person.id).where(Person.ssn == "plain§new")).all() == [1]
    assert session.scalars(select(Person.id).where(Person.ssn == "plain§old")).all() == []
    assert session.get_one(Person, 1).ssn == "plain§new"


def test_parameter_lists_upsert(session: Session) -> None:
    upsert = _upsert(_insert(session, P), [P.c.id], ssn=lambda new: new.ssn)
    for suffix in "ab":
        session.connection().execute(upsert, [{"id": n, "ssn": f"plain§{n}{suffix}"} for n in (1, 2, 3)])
    assert [one.ssn for one in session.scalars(select(Person).order_by(Person.id))] == [
        "plain§1b",
        "plain§2b",
        "plain§3b",
    ]
    assert session.scalars(select(Person.id).where(Person.ssn == "plain§2b")).all() == [2]


def test_parameter_lists_upsert_where_the_target_is_all_that_is_sealed_in_the_statement(session: Session) -> None:
    _only(session, "sqlite", "postgresql")
    upsert = _upsert(_insert(session, P), [P.c.email], name="again")
    for rows in ([(1, "plain§ann")], [(2, "plain§ANN")], [(3, "plain§Ann"), (4, "plain§bea")]):
        session.connection().execute(upsert, [{"id": key, "email": email} for key, email in rows])
    assert session.execute(select(P.c.id, P.c.name).order_by(P.c.id)).all() == [(1, "again"), (4, None)]


def test_clearing_in_an_upsert_clears_the_terms(session: Session) -> None:
    session.add(Person(id=1, ssn="plain§old"))
    session.commit()
    session.execute(_upsert(_insert(session, P).values(id=1, ssn="plain§x"), [P.c.id], ssn=None))
    assert session.execute(text("SELECT ssn, ssn_bidx_a, ssn_bidx_b FROM person")).one() == (None, None, None)


def test_doing_nothing_needs_nothing(session: Session) -> None:
    _only(session, "sqlite", "postgresql")
    session.add(Person(id=1, ssn="plain§old", email="plain§ann"))
    session.commit()
    session.execute(
        _insert(session, P).values(id=9, email="plain§ANN").on_conflict_do_nothing(index_elements=[P.c.email])
    )
    session.execute(_insert(session, P).values(id=1, ssn="plain§x").on_conflict_do_nothing())
    assert session.scalars(select(Person.ssn)).all() == ["plain§old"]


def _only(session: Session, *databases: str) -> None:
    if session.get_bind().dialect.name not in databases:
        pytest.skip("has no such clause")


def test_a_row_bound_field_is_upserted_on_its_own_row(session: Session) -> None:
    _only(session, "sqlite", "postgresql")
    session.add(Income(id=KEY, person="p", source="plain§old", amount=73911.25))
    session.commit()
    statement = _insert(session, T).values(id=KEY, person="p", source="plain§new")
    session.execute(_upsert(statement, [T.c.id], source=statement.excluded.source))
    session.commit()
    row = session.get_one(Income, KEY)
    assert (row.source, row.amount) == ("plain§new", 73911.25)


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "row-bound by another target": (
        lambda i: _upsert(i(T).values(id=KEY, person="q", amount=73912.5), [T.c.id], amount=lambda new: new.amount),
        "needs those as index_elements",
    ),
    "row-bound value": (
        lambda i: _upsert(i(T).values(id=KEY, person="q", source="plain§x"), [T.c.id], source="plain§y"),
        "excluded.source",
    ),
    "moving the row": (lambda i: _upsert(i(T).values(id=KEY, person="q"), [T.c.id], person="q"), "cannot change"),
    "moving by excluded": (
        lambda i: _upsert(i(T).values(id=KEY, person="q"), [T.c.id], person=lambda new: new.person),
        "cannot change",
    ),
    "target without unique": (lambda i: _upsert(i(P).values(id=1, ssn="plain§x"), [P.c.ssn], name="n"), "unique=True"),
    "terms": (
        lambda i: _upsert(i(P).values(id=1, ssn="plain§x"), [P.c.id], ssn_bidx_a=lambda new: new.ssn_bidx_a),
        "set that column",
    ),
    "expression": (
        lambda i: _upsert(i(P).values(id=1, ssn="plain§x"), [P.c.id], ssn=lambda new: func.lower(new.ssn)),
        "SQL expression",
    ),
    "other excluded": (
        lambda i: _upsert(i(P).values(id=1, ssn="plain§x"), [P.c.id], ssn=lambda new: new.note),
        "SQL expression",
    ),
    "named parameter": (
        lambda i: _upsert(i(P).values(id=1, ssn="plain§x"), [P.c.id], ssn=bindparam("x", "plain§y")),
        "named parameter",
    ),
}


# MariaDB cannot be told which unique key is meant.
OTHER_WORDS = {"row-bound by another target": "any unique key", "row-bound value": "any unique key"}


@pytest.mark.parametrize("way", REFUSED)
def test_what_an_upsert_cannot_seal_is_refused(session: Session, way: str) -> None:
    make, words = REFUSED[way]
    if session.get_bind().dialect.name == "mariadb":
        words = OTHER_WORDS.get(way, words)
        if way == "target without unique":
            pytest.skip("has no target")
    session.add(Income(id=KEY, person="p", source="plain§old", amount=73911.25))
    session.commit()
    with pytest.raises(SealedColumnError, match=words) as refusal:
        session.execute(make(lambda target: _insert(session, target)))
    assert "§" not in str(refusal.value)
    assert session.execute(select(Income.person, Income.source, Income.amount)).one() == ("p", "plain§old", 73911.25)


ORDERED: dict[str, Callable[[Any], Any]] = {
    "a list": lambda s: s.on_duplicate_key_update([("ssn", s.inserted.ssn), ("name", "n")]),
    "columns": lambda s: s.on_duplicate_key_update({P.c.name: "n", P.c.ssn: s.inserted.ssn}),
    "plain": lambda s: s.on_duplicate_key_update([("name", "n"), ("ssn", "plain§new")]),
    "all": lambda s: s.on_duplicate_key_update({c.name: s.inserted[c.name] for c in P.c if c.name in ("ssn", "name")}),
}


@pytest.mark.mariadb
@pytest.mark.parametrize("watched", ["mariadb"], indirect=True)
@pytest.mark.parametrize("way", ORDERED)
def test_on_duplicate_key_takes_what_sqlalchemy_takes(session: Session, way: str) -> None:
    session.add(Person(id=1, ssn="plain§old", email="plain§ann"))
    session.commit()
    # The unique terms of another column are the key that is taken already.
    statement = mysql.insert(P).values(id=9, email="plain§ANN", ssn="plain§new", name="n")
    for _ in range(2):
        session.execute(ORDERED[way](statement))
        session.commit()
    assert session.execute(select(Person.id, Person.name).where(Person.ssn == "plain§new")).all() == [(1, "n")]
    assert session.scalars(select(Person.id).where(Person.ssn == "plain§old")).all() == []
    assert session.scalars(select(Person.ssn)).all() == ["plain§new"]


NOT_ON_DUPLICATE: dict[str, Callable[[Any], Any]] = {
    "an expression in a plain column": lambda s: s.on_duplicate_key_update(name=func.lower(s.inserted.ssn)),
    "its bytes in a plain column": lambda s: s.on_duplicate_key_update(name=s.inserted.ssn),
    "the old bytes in a plain column": lambda s: s.on_duplicate_key_update(name=P.c.ssn),
    "another statement's row": lambda s: s.on_duplicate_key_update(ssn=mysql.insert(P).inserted.ssn),
    "another field": lambda s: s.on_duplicate_key_update(ssn=s.inserted.note),
    "one of the terms": lambda s: s.on_duplicate_key_update(ssn_bidx_a=s.inserted.ssn_bidx_a),
}


@pytest.mark.mariadb
@pytest.mark.parametrize("watched", ["mariadb"], indirect=True)
@pytest.mark.parametrize("way", NOT_ON_DUPLICATE)
def test_on_duplicate_key_moves_no_sealed_bytes_elsewhere(session: Session, spy: DriverSpy, way: str) -> None:
    session.connection()
    spy.sent.clear()
    with pytest.raises(SealedColumnError):
        session.execute(NOT_ON_DUPLICATE[way](mysql.insert(P).values(id=1, ssn="plain§x")))
    assert not spy.sent


def test_another_databases_upsert_is_refused(quick: Engine) -> None:
    """It would be compiled by nobody; what is looked into first says so without the value."""
    statement = mysql.insert(P).values(id=1, ssn="plain§x").on_duplicate_key_update(ssn="plain§y")
    with quick.connect() as connection, pytest.raises(CompileError) as failure:
        connection.execute(statement)
    assert "§" not in str(failure.value)
