import uuid
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import and_, bindparam, or_, select, update
from sqlalchemy.orm import Session

from tests.vault.mapping.clinic import Income
from vault.errors import SealedColumnError
from vault.mapping.row_binding import pinned_row, pins_of, refuse_missing

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
