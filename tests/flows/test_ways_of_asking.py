"""Each row of the table of questions in docs/writing.md, behind each database, in scripts/soak behind each driver.

A question has the right answer, or is refused with nothing sent and the remedy named.
"""

# ruff: noqa: PLC3002  # a called lambda names a subquery within one expression of a table of statements

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import (
    String,
    and_,
    bindparam,
    case,
    cast,
    exists,
    func,
    insert,
    lambda_stmt,
    literal,
    null,
    or_,
    select,
    tuple_,
    type_coerce,
    union,
    union_all,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, aliased, contains_eager, joinedload, selectinload, subqueryload

from tests.flows.clinics import Clinic, behind_a_driver, behind_each_server
from tests.vault.mapping.clinic import Employee, Income, Person, Seat, Ticket, Visit
from vault import equal_together
from vault.errors import SealedColumnError

P, V = Person.__table__, Visit.__table__
Other = aliased(Person)
A, B, C = "plain§a", "plain§b", "plain§c"
NOTHING = None
TABLE = Path(__file__).parents[2] / "docs" / "writing.md"


@dataclass(frozen=True)
class Question:
    """ask: a statement, or a function of a session that gives the answer. answer: in any order."""

    ask: Any
    answer: list[Any]


def fill(session: Session) -> None:
    """1: a with two visits; 2: b; 3: a too; 4: NULL. The reason of a visit is an answer of its own."""
    session.add_all(
        [
            Person(id=1, name="n3", ssn=A, email="plain§ann@x", age=9173, visits=[Visit(id=1, reason=C), Visit(id=2)]),
            Person(id=2, name="n2", ssn=B, email="plain§bob@x", age=9174),
            Person(id=3, name="n1", ssn=A),
            Person(id=4, name="n4"),
            Employee(id=1, ssn=A, plan=A),
            Ticket(id=1, holder=A, gate=B),
            Ticket(id=2, holder=B, gate=B),
            Seat(id=1, holder=B),
            Seat(id=2, holder=A),
            Seat(id=3, holder=C),
        ]
    )


def _visits_of(option: Any) -> Callable[[Session], list[Any]]:
    def ask(session: Session) -> list[Any]:
        found = session.scalars(select(Person).where(Person.ssn == A, Person.id == 1).options(option)).unique().one()
        return sorted(str(visit.reason) for visit in found.visits)

    return ask


def _lazy(session: Session) -> list[Any]:
    return sorted(str(visit.reason) for visit in session.get_one(Person, 1).visits)


def _unique(session: Session) -> list[Any]:
    with pytest.raises(IntegrityError) as refusal, session.begin_nested():
        session.execute(insert(Person).values(id=9, email="plain§ANN@X"))
    assert "§" not in str(refusal.value)
    return list(session.scalars(select(Person.id).where(Person.email == "plain§ANN@x")))


def _like_shape(session: Session) -> list[Any]:
    """Two models of like shape with other keys, the statement of each warm when the other is asked."""
    found: list[Any] = []
    for value in (A, "plain§nobody", A):
        for model in (Person, Employee):
            found += session.execute(select(model.id, model.ssn).where(model.ssn == value)).all()
    return [tuple(row) for row in found]


def _compiled_once(session: Session) -> list[Any]:
    """SQLAlchemy's cache has no new entry for another value of the same question."""
    cache = session.get_bind().engine._compiled_cache
    session.scalars(select(Person.id).where(Person.ssn == A, Person.note.is_(None), Person.age != 9174)).all()
    before = len(cache)
    for value in (B, C, A):
        ages = select(Person.id).where(Person.ssn == value, Person.note.is_(None), Person.age != 9174)
        found = session.scalars(ages).all()
    assert len(cache) == before
    return list(found)


def _lambda(session: Session) -> list[Any]:
    def of(value: str) -> list[Any]:
        return list(session.scalars(lambda_stmt(lambda: select(Person.id).where(Person.ssn == value))))

    return of(A) + of(B)


def _shown(session: Session) -> list[Any]:
    statement = select(Person.id).where(Person.ssn.in_([A, B]), Person.age == 9173)
    dialect = session.get_bind().dialect
    compiled = statement.compile(dialect=dialect)
    literal_sql = statement.compile(dialect=dialect, compile_kwargs={"literal_binds": True})
    shown = [str(statement), str(compiled), repr(compiled.params), str(literal_sql)]
    assert not [one for one in shown if "§" in one or "9173" in one]
    return list(session.scalars(statement))


ANSWERED: dict[str, Question] = {
    "`column == value`": Question(select(Person.id).where(Person.ssn == A), [1, 3]),
    "`column != value`": Question(select(Person.id).where(Person.ssn != A), [2]),
    "`column == None`, `is_(None)`": Question(
        lambda s: [
            *s.scalars(select(P.c.id).where(P.c.ssn == NOTHING)),
            *s.scalars(select(P.c.id).where(P.c.ssn.is_(None))),
        ],
        [4, 4],
    ),
    "`column != None`, `is_not(None)`": Question(select(Person.id).where(Person.ssn.is_not(null())), [1, 2, 3]),
    "`in_([...])`": Question(select(Person.id).where(Person.ssn.in_([B, C])), [2]),
    "`in_([value, None])`": Question(select(Person.id).where(Person.ssn.in_([B, None])), [2]),
    "`in_([])`": Question(select(Person.id).where(Person.ssn.in_([])), []),
    "`not_in([...])`": Question(select(Person.id).where(Person.ssn.not_in([A, C])), [2]),
    "`not_in([value, None])`": Question(select(Person.id).where(Person.ssn.not_in([A, None])), [2]),
    "a `bindparam()`, also an expanding one": Question(
        lambda s: [
            *s.scalars(select(P.c.id).where(P.c.ssn == bindparam("x")), {"x": B}),
            *s.scalars(select(P.c.id).where(P.c.ssn.in_(bindparam("x", expanding=True))), {"x": [B, C]}),
        ],
        [2, 2],
    ),
    "`and_()`, `or_()`, `not_()` of these": Question(
        select(Person.id).where(
            ~((Person.ssn == A) | Person.ssn.is_(None)) | and_(Person.ssn == A, Person.name == "n1")
        ),
        [2, 3],
    ),
    "EXISTS, `any()`, `has()`": Question(
        lambda s: [
            *s.scalars(select(Person.id).where(exists().where(Visit.person_id == Person.id, Visit.reason == C))),
            *s.scalars(select(Person.id).where(Person.visits.any(Visit.reason == C))),
            *s.scalars(select(Visit.id).where(Visit.person.has(Person.ssn == A))),
        ],
        [1, 1, 1, 2],
    ),
    "a join of the column with itself": Question(
        select(Person.id, Other.id).join(Other, and_(Person.ssn == Other.ssn, Person.id != Other.id)), [(1, 3), (3, 1)]
    ),
    "a join of columns that share an index": Question(
        select(Ticket.id, Seat.id).join(Seat, Ticket.holder == Seat.holder), [(1, 2), (2, 1)]
    ),
    "`equal_together()`": Question(
        lambda s: [
            *s.scalars(select(Ticket.id).where(equal_together(Ticket, "ticket_whole", {"holder": A, "gate": B}))),
            *s.scalars(select(Ticket.id).where(equal_together(Ticket, "ticket_whole", {"holder": A, "gate": C}))),
        ],
        [1],
    ),
    "a join by other columns": Question(select(Visit.reason).join(Person).where(Person.ssn == A), [C, None]),
    "an outer join": Question(
        select(Person.id, Visit.reason).outerjoin(Visit, and_(Visit.person_id == Person.id, Visit.reason == C)),
        [(1, C), (2, None), (3, None), (4, None)],
    ),
    "unique, through the index": Question(_unique, [1]),
    "`aliased()`": Question(select(Other.id, Other.ssn).where(Other.ssn == B), [(2, B)]),
    "ORDER BY another column": Question(
        lambda s: [s.scalars(select(Person.ssn).where(Person.ssn == A).order_by(Person.name)).all()], [[A, A]]
    ),
    "`session.get()`": Question(lambda s: [s.get_one(Person, 2).ssn], [B]),
    "lazy loading": Question(_lazy, ["None", C]),
    "`joinedload()`": Question(_visits_of(joinedload(Person.visits)), ["None", C]),
    "`selectinload()`": Question(_visits_of(selectinload(Person.visits)), ["None", C]),
    "`subqueryload()`": Question(_visits_of(subqueryload(Person.visits)), ["None", C]),
    "`contains_eager()`": Question(
        lambda s: [
            [visit.reason for visit in one.visits]
            for one in s.scalars(
                select(Person).join(Person.visits).where(Visit.reason == C).options(contains_eager(Person.visits))
            ).unique()
        ],
        [[C]],
    ),
    "a subquery that has the column's terms": Question(
        lambda s: s.scalars(
            (lambda q: select(q.c.id).where(q.c.ssn == B))(select(P.c.id, P.c.ssn, P.c.ssn_bidx_a).subquery())
        ).all(),
        [2],
    ),
    "a CTE": Question(
        (lambda q: select(q.c.id, q.c.ssn))(select(Person.id, Person.ssn).where(Person.ssn == B).cte()), [(2, B)]
    ),
    "UNION ALL of the same column": Question(
        union_all(select(P.c.ssn).where(P.c.ssn == B), select(P.c.ssn).where(P.c.id == 3)), [A, B]
    ),
    "a label": Question(select(Person.ssn.label("number")).where(Person.id == 2), [B]),
    "`count(column)`": Question(select(func.count(Person.ssn)), [3]),
    "GROUP BY the term column": Question(
        select(func.count()).where(P.c.ssn.is_not(None)).group_by(P.c.ssn_bidx_a), [1, 2]
    ),
    "a held statement, models of like shape": Question(_like_shape, [(1, A), (3, A), (1, A), (1, A), (3, A), (1, A)]),
    "a warm statement, compiled once": Question(_compiled_once, [1]),
    "a variable in `lambda_stmt()`": Question(_lambda, [1, 3, 2]),
    "`str(statement)`, `literal_binds`": Question(_shown, [1]),
}


@dataclass(frozen=True)
class Refusal:
    """ask: what is refused when it is built or run. remedy: a part of what is said then."""

    ask: Callable[[], Any]
    remedy: str = "in Python"


def _id(condition: Any) -> Any:
    return select(Person.id).where(condition)


REFUSED: dict[str, Refusal] = {
    "LIKE, `startswith()`, `contains()`": Refusal(lambda: _id(Person.ssn.like("plain§%"))),
    "`<`, `<=`, `>`, `>=`": Refusal(lambda: _id(Person.age < 9174)),
    "BETWEEN": Refusal(lambda: _id(Person.age.between(9173, 9174))),
    "`is_distinct_from()`": Refusal(lambda: _id(Person.ssn.is_distinct_from(A))),
    "regular expressions": Refusal(lambda: _id(Person.ssn.regexp_match(A))),
    "`+` and other operators": Refusal(lambda: select(Person.ssn + A)),
    "ORDER BY the column": Refusal(lambda: select(Person.id).order_by(Person.ssn)),
    "GROUP BY the column": Refusal(lambda: select(func.count()).group_by(Person.ssn)),
    "DISTINCT": Refusal(lambda: select(Person.ssn).distinct(), "term column"),
    "UNION, INTERSECT, EXCEPT": Refusal(lambda: union(select(P.c.ssn), select(P.c.ssn)), "term column"),
    "UNION ALL with another column": Refusal(lambda: union_all(select(P.c.ssn), select(P.c.note)), "of its own"),
    "PARTITION BY": Refusal(
        lambda: select(func.row_number().over(partition_by=P.c.ssn, order_by=P.c.id)), "a plain column"
    ),
    "`max()`, `min()`": Refusal(lambda: select(func.max(Person.ssn))),
    "`func.lower()` and other functions": Refusal(lambda: _id(func.lower(Person.ssn) == A)),
    "`cast()`": Refusal(lambda: _id(cast(Person.ssn, String) == A)),
    "`type_coerce()`": Refusal(lambda: _id(type_coerce(Person.ssn, String) == A)),
    "CASE": Refusal(lambda: select(case((P.c.id == 1, P.c.ssn), else_=None))),
    "a tuple in `in_()`": Refusal(lambda: _id(tuple_(Person.id, Person.ssn).in_([(1, A)])), "on the column itself"),
    "a subquery in `in_()`": Refusal(lambda: _id(Person.ssn.in_(select(Visit.reason))), "list of"),
    "`literal(value) == column`": Refusal(lambda: _id(literal(A) == Person.ssn), "on the left"),
    "a comparison with another column": Refusal(lambda: _id(Person.ssn == Visit.reason), "an index that they share"),
    "`==` of a truncated or partial index": Refusal(lambda: select(Ticket.id).where(Ticket.gate == A), r"find_all\(\)"),
    "the term columns of two indexes": Refusal(
        lambda: select(P.c.id).where(P.c.ssn_bidx_a == V.c.reason_bidx_a), "whose keys differ"
    ),
    "`==` of a column without an index": Refusal(lambda: _id(Person.note == A), "declare Sealed"),
    "`==` of a subquery without the terms": Refusal(
        lambda: (lambda q: select(q.c.id).where(q.c.ssn == A))(select(P.c.id, P.c.ssn).subquery()), "ssn_bidx_a too"
    ),
    "a parameter that is NULL": Refusal(lambda: select(P.c.id).where(P.c.ssn == bindparam("x", None)), r"is_\(None\)"),
    "one `bindparam()` for two columns": Refusal(
        lambda: _id(or_(Person.ssn == bindparam("q", A), Person.email == bindparam("q", A))), "of its own name"
    ),
    "a term column with a plain value": Refusal(
        lambda: select(P.c.id).where(P.c.ssn_bidx_a == A), "compare the sealed column instead"
    ),
    "a row-bound column without what it is bound to": Refusal(
        lambda: (lambda q: select(q.c.amount))(select(Income.amount).subquery()), "select person beside it"
    ),
}


@pytest.fixture
def filled(clinic: Clinic) -> Clinic:
    clinic.run(fill)
    clinic.spy.sent.clear()
    return clinic


def _plain_rows(session: Session, ask: Any) -> list[Any]:
    if callable(ask):
        return list(ask(session))
    rows = session.execute(ask).all()
    return [row[0] if len(row) == 1 else tuple(row) for row in rows]


@pytest.mark.parametrize(("clinic", "name"), behind_each_server(ANSWERED), indirect=["clinic"])
def test_a_way_of_asking_has_the_right_answer(filled: Clinic, name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "sqlalchemy.engine")
    question = ANSWERED[name]
    for _ in range(2):  # cold, and from the cache
        found = filled.run(lambda session: _plain_rows(session, question.ask))
        assert sorted(found, key=repr) == sorted(question.answer, key=repr)
    assert "§" not in caplog.text
    assert "INFO" in caplog.text, "statements were logged"


@pytest.mark.parametrize(("clinic", "name"), behind_a_driver(REFUSED), indirect=["clinic"])
def test_k04_05_any_other_way_of_asking_is_refused_before_it_is_sent(
    filled: Clinic, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "sqlalchemy.engine")
    refusal = REFUSED[name]

    def ask(session: Session) -> None:
        session.connection()
        filled.spy.sent.clear()
        with pytest.raises(SealedColumnError, match=refusal.remedy) as said:
            session.execute(refusal.ask()).all()
        assert not filled.spy.sent
        assert "§" not in str(said.value) + repr(vars(said.value))

    for _ in range(2):
        filled.run(ask)
    assert "§" not in caplog.text


def test_the_document_has_a_row_for_each_question_and_no_other() -> None:
    document = TABLE.read_text(encoding="utf-8")
    section = document.split("## Ways of asking")[1].split("\n## ")[0]
    lines = [line.split("|") for line in re.findall(r"^\|(.*)\|$", section, re.MULTILINE)]
    rows = {name.strip(): answer.strip() for name, answer in lines}
    del rows["question"], rows["---"]
    assert list(rows) == [*ANSWERED, *REFUSED]
    for name, answer in rows.items():
        assert answer.startswith("answered" if name in ANSWERED else "refused: ")
