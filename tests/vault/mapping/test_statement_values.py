import pytest
from sqlalchemy import bindparam, func, insert, null

from tests.vault.mapping.clinic import Employee, Person
from vault.errors import SealedColumnError
from vault.mapping.statement_values import Absent, as_dicts, given_key, plain_value
from vault.mapping.table_plan import plan_of

P = Person.__table__
PLAN = plan_of(P)
assert PLAN is not None


def test_a_key_is_text_a_column_or_an_attribute_of_this_table() -> None:
    assert [given_key(key, PLAN) for key in ("ssn", P.c.ssn, Person.ssn)] == ["ssn"] * 3
    assert given_key(Employee.ssn, PLAN) is None


def test_a_value_is_taken_out_of_its_parameter() -> None:
    assert plain_value("x", {}, "l") == "x"
    assert plain_value(null(), {}, "l") is None
    assert plain_value(bindparam("a", "x"), {}, "l") == "x"
    assert plain_value(bindparam("a", callable_=lambda: "y"), {}, "l") == "y"
    assert plain_value(bindparam("a", "x"), {"a": "z"}, "l") == "z"
    assert plain_value(bindparam("a"), {}, "l") is Absent
    with pytest.raises(SealedColumnError, match="l cannot be sealed from an SQL expression"):
        plain_value(func.now(), {}, "l")


def test_rows_by_position_take_the_visible_columns() -> None:
    rows = as_dicts(insert(P).values([(1, "n", "plain§a"), (2, "m", "plain§b")]), PLAN)
    assert rows[0] == {P.c.id: 1, P.c.name: "n", P.c.ssn: "plain§a"}
    with pytest.raises(SealedColumnError, match="more values than columns"):
        as_dicts(insert(P).values([tuple(range(9))]), PLAN)
