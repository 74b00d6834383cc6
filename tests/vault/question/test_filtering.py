import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.policy import ColumnType
from vault.question import Comparison, Operator
from vault.question.filtering import matches

STRANGE = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.decimals()


def one(operator: Operator, *values: Decimal | str) -> Comparison:
    return Comparison("c", operator, values)


@pytest.mark.parametrize(
    ("operator", "met"),
    [
        ("=", [False, True, False]),
        ("!=", [True, False, True]),
        ("<", [True, False, False]),
        ("<=", [True, True, False]),
        (">", [False, False, True]),
        (">=", [False, True, True]),
    ],
)
def test_each_operator_means_what_it_says(operator: Operator, met: list[bool]) -> None:
    assert matches(one(operator, Decimal(5)), [4, 5, 6], "int") == met
    assert matches(one(operator, Decimal("0.5")), [0.4, 0.5, 0.6], "float") == met


def test_in_takes_any_of_its_values() -> None:
    assert matches(one("in", "a", "b"), ["a", "c", None, "b"], "str") == [True, False, False, True]


def test_null_nan_and_strangers_meet_no_condition_not_even_unequal() -> None:
    assert matches(one("!=", Decimal(5)), [None, math.nan, "5", b"5"], "float") == [False] * 4
    assert matches(one("!=", "x"), [None, 5, b"y"], "str") == [False] * 3


def test_a_decimal_literal_equals_the_float_that_was_stored() -> None:
    assert matches(one("=", Decimal("0.1")), [0.1], "float") == [True]


@given(st.lists(STRANGE), st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), st.sampled_from(["int", "float"]))
def test_nothing_raises_whatever_the_database_holds(values: list[Any], operator: Operator, kind: ColumnType) -> None:
    assert len(matches(one(operator, Decimal(1)), values, kind)) == len(values)
