"""Where a sealed column cannot stand: refused before anything is sent, with the remedy."""

# ruff: noqa: PLC3002  # a called lambda names a subquery within one expression of a table of statements

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import (
    Engine,
    String,
    Text,
    any_,
    bindparam,
    case,
    cast,
    column,
    delete,
    desc,
    distinct,
    except_,
    func,
    insert,
    intersect,
    literal,
    literal_column,
    select,
    text,
    tuple_,
    type_coerce,
    union,
    union_all,
    update,
    values,
)
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session, aliased, joinedload, with_loader_criteria

from tests.vault.mapping.clinic import Employee, Income, Person, Visit
from tests.vault.mapping.driver_spy import DriverSpy
from vault.errors import SealedColumnError
from vault.mapping.guard import touches_sealed

pytestmark = pytest.mark.databases_in_turn

P = Person.__table__
IN_PYTHON = "Python after reading"
LOOKS_SEALED = b"\x01\0key!" + 28 * b"." + "plain§".encode()

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "order by": (lambda: select(Person.id).order_by(Person.ssn), IN_PYTHON),
    "order by desc()": (lambda: select(Person.id).order_by(desc(Person.ssn)), IN_PYTHON),
    "order by name": (lambda: select(Person.ssn).order_by("ssn"), IN_PYTHON),
    "order by desc name": (lambda: select(Person.ssn).order_by(desc("ssn")), IN_PYTHON),
    "order by label": (lambda: select(Person.ssn.label("x")).order_by("x"), IN_PYTHON),
    "order by labelled": (lambda: (lambda x: select(x).order_by(x))(Person.ssn.label("x")), IN_PYTHON),
    "group by": (lambda: select(func.count()).group_by(Person.ssn), "term column"),
    "group by name": (lambda: select(Person.ssn, func.count()).group_by("ssn"), "term column"),
    "having": (lambda: select(func.count()).group_by(Person.name).having(func.max(Person.ssn) == "plain§"), IN_PYTHON),
    "distinct": (lambda: select(Person.ssn).distinct(), "term column"),
    "distinct entity": (lambda: select(Person).distinct(), "term column"),
    "count distinct": (lambda: select(func.count(distinct(Person.ssn))), "term column"),
    "max": (lambda: select(func.max(Person.age)), IN_PYTHON),
    "lower ==": (lambda: select(Person.id).where(func.lower(Person.ssn) == "plain§"), IN_PYTHON),
    "coalesce": (lambda: select(func.coalesce(Person.ssn, "plain§")), IN_PYTHON),
    "cast": (lambda: select(cast(Person.ssn, String)), IN_PYTHON),
    "cast ==": (lambda: select(Person.id).where(cast(Person.ssn, String) == "plain§"), IN_PYTHON),
    "type_coerce ==": (lambda: select(Person.id).where(type_coerce(Person.ssn, String) == "plain§"), IN_PYTHON),
    "case value": (lambda: select(case((Person.ssn == "plain§", 1), else_=Person.ssn)), IN_PYTHON),
    "case of": (lambda: select(case({"plain§": 1}, value=Person.ssn)), IN_PYTHON),
    "literal on the left": (lambda: select(Person.id).where(literal("plain§") == Person.ssn), "left of =="),
    "literal_column": (lambda: select(Person.id).where(literal_column("name") == Person.ssn), "left of =="),
    "two fields": (lambda: select(Person.id).where(Person.ssn == Person.email), "an index that they share"),
    "plain column": (lambda: select(Person.id).where(Person.ssn == Person.name), "left of =="),
    "plain column on the left": (lambda: select(Person.id).where(Person.name == Person.ssn), "left of =="),
    "join of fields": (
        lambda: select(Person.id).join(Employee, Person.ssn == Employee.ssn),
        "an index that they share",
    ),
    "another field, no index": (
        lambda: select(Person.id).join(aliased(Person), Person.note == Person.note),
        "an index that they share",
    ),
    "tuple": (
        lambda: select(Person.id).where(tuple_(Person.id, Person.ssn).in_([(1, "plain§")])),
        "on the column itself",
    ),
    "in the list of in_": (lambda: select(Person.id).where(Person.name.in_([Person.ssn])), IN_PYTHON),
    "in a subquery": (lambda: select(Person.id).where(Person.name.in_(select(Person.ssn))), "left of =="),
    "union": (lambda: union(select(Person.ssn), select(Person.ssn)), "term column"),
    "orm union": (lambda: select(Person).union(select(Person)), "term column"),
    "intersect": (lambda: intersect(select(Person.ssn), select(Person.ssn)), "term column"),
    "except": (lambda: except_(select(Person.ssn), select(Person.ssn)), "term column"),
    "union in a subquery": (lambda: select(union(select(P.c.ssn), select(P.c.ssn)).subquery()), "term column"),
    "union all of two fields": (lambda: union_all(select(Person.ssn), select(Employee.ssn)), "a column of its own"),
    "union all with plain": (lambda: union_all(select(Person.ssn), select(Person.name)), "a column of its own"),
    "union all ordered": (lambda: union_all(select(P.c.ssn), select(P.c.ssn)).order_by("ssn"), IN_PYTHON),
    "partition by": (lambda: select(func.row_number().over(partition_by=Person.ssn)), "window|PARTITION|Python"),
    "window order": (lambda: select(func.row_number().over(order_by=Person.ssn)), "window|PARTITION|Python"),
    "filter": (lambda: select(func.count().filter(Person.note == Person.ssn)), "an index that they share"),
    "typed text": (lambda: text("SELECT ssn FROM person").columns(P.c.ssn), "mapped column"),
    "in a cte": (lambda: select(select(func.lower(Person.ssn)).cte()), IN_PYTHON),
    "in exists": (
        lambda: select(Person.id).where(select(Visit.id).where(func.lower(Visit.reason) == "plain§").exists()),
        IN_PYTHON,
    ),
    "relationship order": (
        lambda: select(Person).options(joinedload(Person.visits.and_(func.lower(Visit.reason) == "plain§"))),
        IN_PYTHON,
    ),
    "loader criteria": (
        lambda: select(Person).options(with_loader_criteria(Person, func.lower(Person.ssn) == "plain§")),
        IN_PYTHON,
    ),
    "loader criteria below": (
        lambda: (
            select(Visit)
            .where(Visit.person_id.in_(select(Person.id)))
            .options(with_loader_criteria(Person, lambda c: func.lower(c.ssn) == "plain§"))
        ),
        IN_PYTHON,
    ),
    "typed literal": (lambda: select(literal("plain§", P.c.ssn.type)), "on the column itself"),
    "typed parameter": (
        lambda: select(P.c.id).where(P.c.name == bindparam("x", "plain§", type_=P.c.ssn.type)),
        "on the column itself",
    ),
    "typed literal that looks sealed": (lambda: select(literal(LOOKS_SEALED, P.c.scan.type)), "of its table alone"),
    "typed text parameter that looks sealed": (
        lambda: text("SELECT :x").bindparams(bindparam("x", LOOKS_SEALED, type_=P.c.scan.type)),
        "of its table alone",
    ),
    "typed parameter that looks sealed": (
        lambda: update(P).where(literal(LOOKS_SEALED, P.c.scan.type).is_not(None)).values(scan=b"plain\xc2\xa7"),
        "of its table alone",
    ),
    "copied into a plain column": (
        lambda: insert(P).from_select(["id", "name"], select(P.c.id + 1, P.c.ssn)),
        "then insert them",
    ),
    "copied into a plain column by a union": (
        lambda: insert(P).from_select(
            ["id", "name"], union_all(select(P.c.id + 1, P.c.ssn), select(P.c.id + 2, P.c.ssn))
        ),
        "then insert them",
    ),
    "any_": (lambda: select(P.c.id).where(P.c.ssn == any_(["plain§"])), "left of =="),
    "rows of values": (
        lambda: (lambda v: select(P.c.id).join(v, P.c.ssn == v.c.x))(
            values(column("x", Text), name="v").data([("plain§",)])
        ),
        "left of ==",
    ),
    "nullif": (lambda: select(func.nullif(P.c.ssn, "plain§")), IN_PYTHON),
    "case result": (lambda: select(case((P.c.id == 1, "plain§"), else_=P.c.ssn)), IN_PYTHON),
    "concatenation": (lambda: select(literal("plain§") + P.c.ssn), "left of =="),
    "two tuples": (lambda: select(P.c.id).where(tuple_(P.c.ssn, P.c.id) == tuple_("plain§", 1)), "one by one"),
    "truth": (lambda: select(P.c.id).where(P.c.ssn), IN_PYTHON),
    "update where": (lambda: update(Person).where(func.lower(Person.ssn) == "plain§").values(name="n"), IN_PYTHON),
    "delete where": (lambda: delete(Person).where(func.lower(Person.ssn) == "plain§"), IN_PYTHON),
    "returning lower": (lambda: insert(Person).values(id=1, ssn="plain§").returning(func.lower(Person.ssn)), IN_PYTHON),
    "set from a function": (lambda: update(Person).values(name=func.lower(Person.ssn)), IN_PYTHON),
    "set from the column": (lambda: update(Person).values(name=Person.ssn), "plain one"),
    "term with plain text": (
        lambda: select(Person.id).where(literal("plain§") == P.c.ssn_bidx_a),
        "sealed column itself",
    ),
    "row-bound without its row": (lambda: select(Income.amount).group_by(Income.amount), "term column"),
}


@pytest.mark.parametrize("way", REFUSED)
def test_k04_05_a_place_where_a_sealed_column_cannot_stand_is_refused(
    session: Session, spy: DriverSpy, way: str
) -> None:
    make, remedy = REFUSED[way]
    session.connection()  # whose database is told to the key store
    spy.sent.clear()
    for _ in range(2):
        with pytest.raises(SealedColumnError, match=remedy) as refusal:
            session.execute(make()).all()
        assert "§" not in str(refusal.value)
    assert not spy.sent


@pytest.mark.postgres
def test_distinct_on_is_refused_on_a_sealed_column_only(watched_postgres: tuple[Engine, DriverSpy]) -> None:
    with Session(watched_postgres[0]) as session:
        with pytest.raises(SealedColumnError, match=IN_PYTHON):
            session.execute(select(Person.id).ext(distinct_on(Person.ssn)))
        assert session.execute(select(Person.id, Person.ssn).ext(distinct_on(Person.id))).all() == []


def test_the_guard_looks_once_at_each_compiled_statement(quick: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[Any] = []
    monkeypatch.setattr("vault.mapping.hooks.touches_sealed", lambda *a: looks.append(a) or touches_sealed(*a))
    with Session(quick) as session:
        for value in ("plain§a", "plain§b", "plain§c"):
            session.execute(select(Person.ssn).where(Person.ssn == value))
    assert len(looks) == 1


def test_a_statement_without_sealed_columns_does_not_touch_them() -> None:
    assert not touches_sealed(select(P.c.id, P.c.name).where(P.c.name == "n").order_by(P.c.name).distinct())
    assert not touches_sealed(select(column("x", Text)))
    assert touches_sealed(select(P.c.ssn))
    assert touches_sealed(select(P.c.id).where(P.c.ssn == "plain§a"))


def test_locking_rows_by_a_sealed_column_is_only_locking_them() -> None:
    assert not touches_sealed(select(P.c.id).with_for_update(of=P.c.ssn))


@pytest.mark.parametrize("many", [False, True])
def test_a_value_that_is_to_stand_in_the_sql_text_does_not(session: Session, spy: DriverSpy, many: bool) -> None:
    asked = bindparam("x", ["plain§"] if many else "plain§", expanding=many, literal_execute=True)
    with pytest.raises(DBAPIError, match="syntax") as failure:
        session.execute(select(P.c.id).where(P.c.ssn.in_(asked) if many else P.c.ssn == asked))
    assert "§" not in str(failure.value)
    assert not spy.saw_plaintext()
