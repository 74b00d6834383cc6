"""One bindparam() name in two places of a statement."""

from typing import Any

import pytest
from sqlalchemy import Engine, bindparam, or_, select, update
from sqlalchemy.orm import Session, aliased

from tests.vault.mapping.clinic import Person
from tests.vault.mapping.driver_spy import DriverSpy
from vault.errors import SealedColumnError

pytestmark = pytest.mark.databases_in_turn

A, B = "plain§a", "plain§b"
Q = bindparam("q")
OTHER = aliased(Person)


@pytest.fixture
def filled(session: Session) -> Session:
    session.add_all([Person(id=1, ssn=A, email=B, name="n"), Person(id=2, ssn=B)])
    session.commit()
    return session


@pytest.mark.parametrize(
    "asked",
    [
        or_(Person.ssn == bindparam("q"), Person.email == bindparam("q")),
        or_(Person.ssn == Q, Person.email == Q),
        or_(Person.ssn == bindparam("q"), Person.name == bindparam("q")),
        or_(Person.name == bindparam("q"), Person.ssn == bindparam("q")),
        or_(Person.ssn.in_(bindparam("q", expanding=True)), Person.email.in_(bindparam("q", expanding=True))),
    ],
)
def test_a_parameter_of_two_columns_is_refused_and_never_answered_by_the_term_of_one(
    filled: Session, spy: DriverSpy, asked: Any
) -> None:
    filled.connection()
    spy.sent.clear()
    for _ in range(2):
        with pytest.raises(SealedColumnError, match="bindparam\\(\\) of its own name") as refused:
            filled.execute(select(Person.id).where(asked), {"q": [A] if "IN" in str(asked) else A}).all()
        assert "§" not in str(refused.value)
    assert not spy.sent


def test_a_parameter_of_one_column_is_used_as_often_as_one_likes(filled: Session) -> None:
    both = select(Person.id, OTHER.id).join(OTHER, Person.id == OTHER.id)
    both = both.where(Person.ssn == bindparam("q"), OTHER.ssn == bindparam("q"))
    for value, found in ((A, [(1, 1)]), (B, [(2, 2)])):
        assert filled.execute(both, {"q": value}).all() == found


def test_a_parameter_that_is_asked_and_written_is_refused_unless_both_are_its_own(quick: Engine) -> None:
    with Session(quick) as session:
        session.add(Person(id=1, ssn=A))
        session.flush()
        table = Person.__table__
        with pytest.raises(SealedColumnError, match="of its own name"):
            session.connection().execute(
                update(table).where(table.c.ssn == bindparam("q")).values(name=bindparam("q")), {"q": A}
            )
        moved = update(table).where(table.c.ssn == bindparam("old")).values(ssn=bindparam("new"))
        assert session.connection().execute(moved, {"old": A, "new": B}).rowcount == 1
