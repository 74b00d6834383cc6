import pytest
from sqlalchemy import and_, bindparam, or_, update

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
