import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sqlalchemy import and_, bindparam, insert, or_, select, update
from sqlalchemy.orm import Session

from tests.vault.mapping.clinic import Income, Letter, Person
from vault.errors import SealedColumnError
from vault.mapping.row_binding import pinned_row, pins_of, refuse_missing

pytestmark = pytest.mark.databases_in_turn

T = Income.__table__


def _row(statement: object, parameters: dict[str, object] | None = None) -> dict[str, object]:
    return pinned_row([T.c.id, T.c.person], pins_of(statement), parameters or {})  # type: ignore[arg-type]


def test_equalities_that_must_all_hold_pin_their_columns() -> None:
    assert _row(update(T).where(T.c.person == "p")) == {"person": "p"}
    assert _row(update(T).where(and_(T.c.id == 1, T.c.person == "p"))) == {"id": 1, "person": "p"}
    assert _row(update(T).where(T.c.id == 1).where(and_(T.c.person == "p", T.c.amount.is_(None)))) == {
        "id": 1,
        "person": "p",
    }
    assert _row(update(T).where(T.c.person == bindparam("who")), {"who": "q"}) == {"person": "q"}


def test_other_conditions_pin_nothing() -> None:
    assert _row(update(T)) == {}
    assert _row(update(T).where(or_(T.c.person == "p", T.c.id == 1))) == {}
    assert _row(update(T).where(T.c.person != "p")) == {}
    assert _row(update(T).where(~(T.c.person == "p"))) == {}
    assert _row(update(T).where(T.c.person.in_(["p"]))) == {}
    assert _row(update(T).where(T.alias().c.person == "p")) == {}
    assert _row(update(T).where(T.c.person == bindparam("who")), {"who": None}) == {}


def test_a_missing_column_is_named() -> None:
    sealed = T.c.ours.type.owner
    with pytest.raises(SealedColumnError, match="give person in the same INSERT"):
        refuse_missing(sealed, {"id": 1}, updating=False)
    with pytest.raises(SealedColumnError, match="id, person given by == in WHERE"):
        refuse_missing(sealed, {}, updating=True)
    refuse_missing(sealed, {"id": 1, "person": "p"}, updating=True)


NUMPY_ROWS: dict[str, Callable[[Session], object]] = {
    "object": lambda s: s.add(Letter(id=1, person_id=np.int64(7), body="plain§")),
    "list": lambda s: s.execute(insert(Letter), [{"id": 1, "person_id": np.int32(7), "body": "plain§"}]),
    "values": lambda s: s.execute(insert(Letter).values(id=1, person_id=np.int64(7), body="plain§")),
    "several": lambda s: s.execute(insert(Letter).values([{"id": 1, "person_id": np.int64(7), "body": "plain§"}])),
}


@pytest.mark.parametrize("way", NUMPY_ROWS)
def test_a_number_of_numpy_binds_only_where_it_is_stored_as_a_number(session: Session, way: str) -> None:
    session.add(Person(id=7))
    session.flush()
    if session.get_bind().dialect.name == "sqlite":
        with pytest.raises(SealedColumnError, match=r"letter\.body is bound .* by person_id, and SQLite .* give int"):
            _flushed(session, way)
        return
    _flushed(session, way)
    session.expunge_all()
    assert session.scalars(select(Letter.body).where(Letter.person_id == 7)).all() == ["plain§"]


def _flushed(session: Session, way: str) -> None:
    NUMPY_ROWS[way](session)
    session.flush()


UPDATES: dict[str, Callable[[str], Any]] = {
    "a value": lambda who: (update(T).where(T.c.person == who).values(amount=73912.5), None),
    "a parameter": lambda who: (
        update(T).where(T.c.person == bindparam("who")).values(amount=bindparam("x")),
        {"who": who, "x": 73912.5},
    ),
    "a list": lambda who: (
        update(T).where(T.c.person == bindparam("who")).values(amount=bindparam("x")),
        [{"who": who, "x": 73912.5}, {"who": "nobody", "x": 73912.5}],
    ),
    "orm": lambda who: (update(Income).where(Income.person == who).values(amount=73912.5), None),
}


@pytest.mark.parametrize("way", UPDATES)
@pytest.mark.parametrize("other", ["ANN", "änn", "ann "])
def test_a_text_that_a_collation_takes_for_equal_is_another_row(session: Session, way: str, other: str) -> None:
    session.add(Income(id=uuid.UUID(int=1), person="ann", amount=73911.25))
    session.commit()
    session.execute(*UPDATES[way](other))
    assert session.scalars(select(T.c.amount)).all() == [73911.25]
    session.execute(*UPDATES[way]("ann"))
    assert session.scalars(select(T.c.amount)).all() == [73912.5]


@pytest.mark.mariadb
@pytest.mark.parametrize("watched", ["mariadb"], indirect=True)
def test_an_exact_comparison_is_compiled_once(session: Session, caplog: pytest.LogCaptureFixture) -> None:
    session.add(Income(id=uuid.UUID(int=1), person="ann", amount=73911.25))
    session.commit()
    caplog.set_level("INFO", "sqlalchemy.engine")
    for _ in range(3):
        session.execute(update(T).where(T.c.person == "ann").values(amount=73912.5))
    assert caplog.text.count("[cached since") >= 2
