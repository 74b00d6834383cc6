from typing import Any

import pytest
from sqlalchemy import Engine

from tests.vault.mapping.ward import Doctor, Patient
from vault.errors import SealedColumnError
from vault.mapping.lookup import lookups, via
from vault.mapping.statement_plan import StatementPlan

T = Patient.__table__


def columns(by: dict[Any, Any]) -> list[list[str]]:
    return [[column.name for column in one.columns] for one in lookups([T], by)]  # type: ignore[list-item]


def test_a_column_an_attribute_and_a_name_are_one_key() -> None:
    for key in (Patient.code, T.c.code, "code"):
        assert columns({key: "plain§"}) == [["code"]]
    assert columns({"whole": {"name": "plain§", "born": 1980}, Patient.code: "x"}) == [["name", "born"], ["code"]]


def test_the_full_length_index_is_asked_unless_another_is_named() -> None:
    (full,) = lookups([T], {"email": "plain§"})  # type: ignore[list-item]
    (named,) = lookups([T], {"email": via("at", "plain§")})  # type: ignore[list-item]
    assert [one.term("x").left.name for one in (full, named)] == ["email_bidx_a", "email_at_a"]  # type: ignore[attr-defined]
    assert (full.exact, named.exact) == (True, False)


def test_no_value_is_in_what_can_be_shown(quick: Engine) -> None:
    (one,) = lookups([T], {"code": "plain§"})  # type: ignore[list-item]
    assert "§" not in repr(one) + repr(one.asked) + str(one.term("x"))
    assert one.matcher(quick.dialect, StatementPlan())(("plain§",))
    assert not one.matcher(quick.dialect, StatementPlan())(("plain",))
    assert not one.matcher(quick.dialect, StatementPlan())((None,))


def test_another_tables_column_is_refused() -> None:
    with pytest.raises(SealedColumnError, match="names 'who'"):
        lookups([T], {Doctor.who: "plain§"})  # type: ignore[list-item]
