"""Each row of the table of ways in docs/writing.md, behind each database, in scripts/soak behind each driver.

A way keeps value and terms together, or is refused with nothing sent.
"""

import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import (
    bindparam,
    func,
    insert,
    lambda_stmt,
    literal,
    null,
    select,
    text,
    update,
)
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Session
from sqlalchemy.schema import CreateTableAs
from sqlalchemy.sql.base import Executable
from sqlalchemy.sql.elements import ClauseElement

from tests.flows.clinics import Clinic, behind_a_driver, behind_each_server
from tests.vault.mapping.clinic import Employee, Person, Visit
from vault.errors import SealedColumnError

P = Person.__table__
OLD, NEW, OTHER = "plain§old", "plain§new", "plain§other"
TABLE = Path(__file__).parents[2] / "docs" / "writing.md"


@dataclass(frozen=True)
class Way:
    """write: on tables in which person 1 has OLD and person 2 has OTHER.

    after: who has what then, beside person 2. not_on: databases that have no such thing. options: of the session.
    """

    write: Callable[[Session], Any]
    after: dict[int, str | None] = field(default_factory=lambda: {1: NEW})
    not_on: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    awaited: Callable[[AsyncSession], Coroutine[Any, Any, Any]] | None = None


ADDED: dict[int, str | None] = {1: OLD, 7: NEW}
BOTH: dict[int, str | None] = {1: OLD, 7: NEW, 8: "plain§8"}
ROWS = [{"id": 7, "ssn": NEW}, {"id": 8, "ssn": "plain§8"}]
ONLY_MARIADB, NO_MARIADB = ("sqlite", "postgresql"), ("mariadb",)


def _flushed(session: Session, *people: Person) -> tuple[Person, ...]:
    session.flush()
    return people


def _loaded(session: Session, ssn: str | None) -> tuple[Person, ...]:
    person = session.get_one(Person, 1)
    person.ssn = ssn
    return _flushed(session, person)


def _added(session: Session, *people: Person) -> tuple[Person, ...]:
    session.add_all(people)
    return _flushed(session, *people)


def _one_added(session: Session) -> tuple[Person, ...]:
    person = Person(id=7, ssn=NEW)
    session.add(person)
    return _flushed(session, person)


def _saved(session: Session) -> None:
    person = session.get_one(Person, 1)
    session.expunge(person)
    person.ssn = NEW
    session.bulk_save_objects([person])


def _cascade(session: Session) -> tuple[Person, ...]:
    """Reasons are compared by the check of everything that is stored."""
    person = Person(id=7, ssn=NEW, visits=[Visit(id=1, reason="plain§r")])
    session.add(person)
    session.flush()
    assert session.scalars(select(Visit.person_id).where(Visit.reason == "plain§r")).all() == [7]
    return (person,)


def _cascade_from_the_other_side(session: Session) -> tuple[Person, ...]:
    visit = Visit(id=1, reason="plain§r", person=Person(id=7, ssn=NEW))
    session.add(visit)
    session.flush()
    assert visit.person is not None
    return (visit.person,)


def _nested(session: Session) -> None:
    with session.begin_nested():
        session.execute(update(Person).where(Person.id == 1).values(ssn=NEW))
    undone = session.begin_nested()
    session.get_one(Person, 1).ssn = "plain§undone"
    session.add(Person(id=9, ssn="plain§undone"))
    session.flush()
    undone.rollback()
    assert session.get_one(Person, 1).ssn == NEW


async def _awaited(session: AsyncSession) -> None:
    person = await session.get_one(Person, 1)
    person.ssn = "plain§flushed"
    await session.flush()
    assert person.ssn == "plain§flushed"
    await session.execute(update(Person).where(Person.ssn == "plain§flushed").values(ssn=NEW))
    await session.refresh(person)
    assert person.ssn == NEW
    async with session.begin_nested():
        session.add(Person(id=7, ssn=NEW))
    rows = await session.stream(select(Person.id, Person.ssn).where(Person.ssn == NEW).order_by(Person.id))
    assert [tuple(row) async for row in rows] == [(1, NEW), (7, NEW)]


def _upsert(session: Session, target: Any, *, plain: bool = False, **row: Any) -> None:
    module = sqlite if session.get_bind().dialect.name == "sqlite" else postgresql
    statement = module.insert(P).values(**row)
    given = {"ssn": NEW if plain else statement.excluded.ssn}
    session.execute(statement.on_conflict_do_update(index_elements=[target], set_=given))


def _on_duplicate(session: Session, many: list[dict[str, Any]] | None, *, plain: bool = False, **row: Any) -> None:
    statement = mysql.insert(P).values(**row) if row else mysql.insert(P)
    session.connection().execute(
        statement.on_duplicate_key_update(ssn=NEW if plain else statement.inserted.ssn), many or {}
    )


def _nothing(session: Session) -> None:
    module = sqlite if session.get_bind().dialect.name == "sqlite" else postgresql
    session.execute(module.insert(P).values(id=1, ssn=NEW).on_conflict_do_nothing())


def _core(statement: Any, parameters: Any = None) -> Callable[[Session], Any]:
    return lambda session: session.connection().execute(statement, parameters)


def _orm(statement: Any, parameters: Any = None) -> Callable[[Session], Any]:
    return lambda session: session.execute(statement, parameters)


TOGETHER: dict[str, Way] = {
    "`session.add()`": Way(_one_added, ADDED),
    "`session.add_all()`": Way(lambda s: _added(s, Person(id=7, ssn=NEW), Person(id=8, ssn="plain§8")), BOTH),
    "`session.merge()` of a new object": Way(lambda s: _flushed(s, s.merge(Person(id=7, ssn=NEW))), ADDED),
    "`session.merge()` of one that is stored": Way(lambda s: _flushed(s, s.merge(Person(id=1, ssn=NEW)))),
    "a changed attribute": Way(lambda s: _loaded(s, NEW)),
    "an attribute that becomes `None`": Way(lambda s: _loaded(s, None), {1: None}),
    "cascade from parent to child": Way(_cascade, ADDED),
    "cascade from child to parent": Way(_cascade_from_the_other_side, ADDED),
    "`insert(Model)` with a list": Way(_orm(insert(Person), ROWS), BOTH),
    "`insert(Model).values(one)`": Way(_orm(insert(Person).values(id=7, ssn=NEW)), ADDED),
    "`insert(Model).values([many])`": Way(_orm(insert(Person).values(ROWS)), BOTH),
    "`insert(Model).returning(Model)`": Way(
        lambda s: s.scalars(insert(Person).returning(Person), ROWS).all()[:1], BOTH
    ),
    "`bulk_insert_mappings()`": Way(lambda s: s.bulk_insert_mappings(Person, ROWS), BOTH),
    "`bulk_update_mappings()`": Way(lambda s: s.bulk_update_mappings(Person, [{"id": 1, "ssn": NEW}])),
    "`bulk_save_objects()` of new objects": Way(lambda s: s.bulk_save_objects([Person(id=7, ssn=NEW)]), ADDED),
    "`bulk_save_objects()` of changed objects": Way(_saved),
    "`update(Model).where().values()`": Way(_orm(update(Person).where(Person.id == 1).values(ssn=NEW))),
    "`update(Model)` to `None` or `null()`": Way(
        _orm(update(Person).where(Person.id == 1).values(ssn=null())), {1: None}
    ),
    "`update(Model)` by primary keys with a list": Way(_orm(update(Person), [{"id": 1, "ssn": NEW}])),
    "`update(Model).returning()`": Way(
        _orm(update(Person).where(Person.ssn == OLD).values(ssn=NEW).returning(Person)), not_on=NO_MARIADB
    ),
    "`Query.update()`": Way(lambda s: s.query(Person).filter(Person.ssn == OLD).update({"ssn": NEW})),
    "`table.insert().values()`": Way(_core(P.insert().values(id=7, ssn=NEW)), ADDED),
    "`table.insert()` with a dictionary": Way(_core(P.insert(), {"id": 7, "ssn": NEW}), ADDED),
    "`table.insert()` with a list": Way(_core(P.insert(), ROWS), BOTH),
    "`table.insert().values([many])`": Way(_core(P.insert().values(ROWS)), BOTH),
    "`table.insert().values()` with tuples": Way(_core(P.insert().values([(7, "n", NEW)])), ADDED),
    "`table.insert()` with named `bindparam()`": Way(
        _core(
            P.insert().values(id=bindparam("i"), ssn=bindparam("x")),
            [{"i": 7, "x": NEW}, {"i": 8, "x": "plain§8"}],
        ),
        BOTH,
    ),
    "`table.insert().returning()`": Way(
        lambda s: _is_new(s.connection().execute(P.insert().values(id=7, ssn=NEW).returning(P.c.ssn)).scalar_one()),
        ADDED,
    ),
    "`table.update().values()`": Way(_core(P.update().where(P.c.ssn == OLD).values(ssn=NEW))),
    "`table.update()` with a dictionary": Way(_core(P.update().where(P.c.id == 1), {"ssn": NEW})),
    "`table.update()` with named `bindparam()`": Way(
        _core(
            P.update().where(P.c.id == bindparam("i")).values(ssn=bindparam("x")),
            [{"i": 1, "x": NEW}, {"i": 99, "x": "plain§99"}],
        )
    ),
    "`table.update().ordered_values()`": Way(
        _core(P.update().where(P.c.id == 1).ordered_values((P.c.name, "n"), (P.c.ssn, NEW)))
    ),
    "`on_conflict_do_update()` with `excluded`": Way(lambda s: _upsert(s, P.c.id, id=1, ssn=NEW), not_on=NO_MARIADB),
    "`on_conflict_do_update()` with plain values": Way(
        lambda s: _upsert(s, P.c.id, plain=True, id=1, ssn="plain§x"), not_on=NO_MARIADB
    ),
    "`on_conflict_do_update()` on a unique sealed column": Way(
        lambda s: _upsert(s, P.c.email, id=9, email="plain§ANN@X", ssn=NEW), not_on=NO_MARIADB
    ),
    "`on_conflict_do_nothing()`": Way(_nothing, {1: OLD}, not_on=NO_MARIADB),
    "`on_duplicate_key_update()` with `inserted`": Way(
        lambda s: _on_duplicate(s, None, id=1, ssn=NEW), not_on=ONLY_MARIADB
    ),
    "`on_duplicate_key_update()` with plain values": Way(
        lambda s: _on_duplicate(s, None, plain=True, id=1, ssn="plain§x"), not_on=ONLY_MARIADB
    ),
    "`on_duplicate_key_update()` with a list": Way(
        lambda s: _on_duplicate(s, [{"id": 1, "ssn": NEW}, {"id": 8, "ssn": "plain§8"}]),
        {1: NEW, 8: "plain§8"},
        not_on=ONLY_MARIADB,
    ),
    "`on_duplicate_key_update()` on a unique sealed column": Way(
        lambda s: _on_duplicate(s, None, id=9, email="plain§ANN@X", ssn=NEW), not_on=ONLY_MARIADB
    ),
    "a nested transaction, kept or undone": Way(_nested),
    "a two-phase transaction": Way(lambda s: _loaded(s, NEW), not_on=("sqlite",), options={"twophase": True}),
    "`AsyncSession`": Way(lambda s: None, {1: NEW, 7: NEW}, awaited=_awaited),
}


def _is_new(returned: Any) -> None:
    assert returned == NEW


class Smuggle(Executable, ClauseElement):
    """A statement that nobody thought of: it binds a value by the column's own type."""

    inherit_cache = False


@compiles(Smuggle)
def _smuggle(element: Smuggle, compiler: Any, **kw: Any) -> str:
    return f"UPDATE person SET ssn = {compiler.process(literal(NEW, P.c.ssn.type))}"


REFUSED: dict[str, Callable[[Session], Any]] = {
    "`insert().from_select()`": _orm(insert(Person).from_select(["id", "ssn"], select(Employee.id, Employee.ssn))),
    "`insert().from_select()` of a sealed column into a plain one": _orm(
        insert(Person).from_select(["id", "name"], select(Employee.id, Employee.ssn))
    ),
    "an SQL function as the value": _orm(insert(Person).values(id=7, ssn=func.lower(NEW))),
    "an SQL expression as an attribute": lambda s: _added(s, Person(id=7, ssn=func.lower(NEW))),
    "another column as the value": _orm(update(Person).values(note=Person.ssn)),
    "a subquery as the value": _orm(update(Person).values(note=select(Person.name).limit(1).scalar_subquery())),
    "an SQL expression in `Query.update()`": lambda s: s.query(Person).update({"ssn": func.upper(Person.name)}),
    "an SQL expression in an upsert": lambda s: s.execute(_expression_in_an_upsert(s)),
    "an INSERT or UPDATE in `lambda_stmt()`": lambda s: s.execute(lambda_stmt(lambda: insert(P).values(id=7, ssn=NEW))),
    "an INSERT or UPDATE in a CTE": _orm(select(insert(P).values(id=7, ssn=NEW).returning(P.c.id).cte())),
    "an INSERT or UPDATE of an alias or join": _core(update(P.alias()).values(ssn=NEW)),
    "a `bindparam()` named as another column": _core(insert(P).values(id=7, ssn=bindparam("name")), {"name": NEW}),
    "a term column by itself": _core(insert(P).values(id=7, ssn_bidx_a=b"t" * 37)),
    "CREATE TABLE AS": _core(CreateTableAs(select(P.c.ssn).where(P.c.ssn == NEW), "copied")),
    "`text()` with the column's type": _orm(
        text("UPDATE person SET ssn = :x").bindparams(bindparam("x", NEW, type_=P.c.ssn.type))
    ),
    "any other statement with the column's type": _core(Smuggle()),
}


def _expression_in_an_upsert(session: Session) -> Any:
    if session.get_bind().dialect.name == "mariadb":
        statement = mysql.insert(P).values(id=1, ssn=NEW)
        return statement.on_duplicate_key_update(ssn=func.lower(statement.inserted.ssn))
    module = sqlite if session.get_bind().dialect.name == "sqlite" else postgresql
    new = module.insert(P).values(id=1, ssn=NEW)
    return new.on_conflict_do_update(index_elements=[P.c.id], set_={"ssn": func.lower(new.excluded.ssn)})


@pytest.fixture
def filled(clinic: Clinic) -> Clinic:
    clinic.run(lambda s: _added(s, Person(id=1, ssn=OLD, email="plain§ann@x", age=9173), Person(id=2, ssn=OTHER)))
    clinic.spy.sent.clear()
    return clinic


def _everybody(session: Session) -> dict[int, str | None]:
    return {row.id: row.ssn for row in session.execute(select(Person.id, Person.ssn))}


AWAITED = [name for name, way in TOGETHER.items() if way.awaited is not None]
NOT_AWAITED = [name for name in TOGETHER if name not in AWAITED]


@pytest.mark.parametrize(
    ("clinic", "name"),
    [*behind_each_server(NOT_AWAITED), *behind_each_server(AWAITED, only_async=True)],
    indirect=["clinic"],
)
def test_k05_01_a_way_of_writing_keeps_value_and_terms_together(filled: Clinic, name: str) -> None:
    way = TOGETHER[name]

    def write(session: Session) -> None:
        written = way.write(session)
        for person in written if isinstance(written, tuple | list) else ():
            assert person in session
            assert person.ssn == way.after[person.id], "an instance holds the plain value after its flush"
            assert not session.dirty

    def whole() -> None:
        filled.run(write, **way.options) if way.awaited is None else filled.wait(way.awaited, **way.options)

    if filled.database in way.not_on:
        with pytest.raises((SQLAlchemyError, NotImplementedError)) as refusal:
            whole()
        assert "§" not in str(refusal.value)
        assert filled.run(_everybody) == {1: OLD, 2: OTHER}
        return
    whole()
    expected = way.after | {2: OTHER}
    assert filled.run(_everybody) == expected
    assert filled.assert_kept_together() >= len([ssn for ssn in expected.values() if ssn])
    for ssn in {OLD, NEW, OTHER, "plain§8"}:
        holders = sorted(person for person, has in expected.items() if has == ssn)
        assert filled.run(lambda s, ssn=ssn: sorted(s.scalars(select(Person.id).where(Person.ssn == ssn)))) == holders


@pytest.mark.parametrize(("clinic", "name"), behind_a_driver(REFUSED), indirect=["clinic"])
def test_k05_01_any_other_way_of_writing_is_refused_before_it_is_sent(filled: Clinic, name: str) -> None:
    sent: list[Any] = []

    def write(session: Session) -> None:
        session.connection()
        filled.spy.sent.clear()
        try:
            REFUSED[name](session)
        finally:
            sent.extend(filled.spy.sent)

    with pytest.raises(SealedColumnError) as refusal:
        filled.run(write)
    assert "§" not in str(refusal.value)
    assert not sent
    assert filled.run(_everybody) == {1: OLD, 2: OTHER}


def test_the_document_has_a_row_for_each_way_and_no_other() -> None:
    document = TABLE.read_text(encoding="utf-8")
    section = document.split("## Ways of writing")[1].split("\n## ")[0]
    rows = {
        cells[0].strip(): cells[1:]
        for line in re.findall(r"^\|(.*)\|$", section, re.MULTILINE)
        if (cells := line.split("|"))
    }
    del rows["way"], rows["---"]
    assert list(rows) == [*TOGETHER, *REFUSED]
    for name, (outcome, not_on) in rows.items():
        assert outcome.strip().startswith("together" if name in TOGETHER else "refused: ")
        lacks = TOGETHER[name].not_on if name in TOGETHER else ()
        named = {"SQLite": "sqlite", "PostgreSQL": "postgresql", "MariaDB": "mariadb"}
        assert {named[one] for one in re.findall(r"\w+", not_on)} == set(lacks)
