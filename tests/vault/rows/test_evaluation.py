import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.expression import Call, Case, Column, Expression, Negated, Number, Operation, Test, parse_expression
from vault.expression.form import negated
from vault.policy import ColumnType
from vault.rows.evaluation import evaluated

KINDS: dict[str, ColumnType] = {"a": "float", "b": "float", "i": "int", "p": "str"}
NAN = math.nan


def values(text: str, **columns: list[Any]) -> list[float]:
    rows = len(next(iter(columns.values())))
    return evaluated(parse_expression(text), columns, KINDS, rows).tolist()


def same(one: list[float], other: list[float]) -> bool:
    return list(map(repr, one)) == list(map(repr, other))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b", [5.0, -1.0]),
        ("a - b", [-1.0, -3.0]),
        ("a * b", [6.0, -2.0]),
        ("a / b", [2 / 3, -2.0]),
        ("-a", [-2.0, 2.0]),
        ("abs(a)", [2.0, 2.0]),
        ("min(a, b, 0)", [0.0, -2.0]),
        ("max(a, b, 0)", [3.0, 1.0]),
        ("case when a < b and b > 2 then 1 else a end", [1.0, -2.0]),
        ("case when a < 0 then b when a = 2 then 7 end", [7.0, 1.0]),
        ("case when a = 2 then b end", [3.0, NAN]),
        ("case when p = 'x' then 1 when p in ('y', 'z') then 2 end", [1.0, 2.0]),
        ("case when p != 'x' then 1 else 0 end", [0.0, 1.0]),
        ("case when a in (2, 7) then 1 else 0 end", [1.0, 0.0]),
        ("7", [7.0, 7.0]),
    ],
)
def test_an_expression_means_what_it_says(text: str, expected: list[float]) -> None:
    assert same(values(text, a=[2.0, -2.0], b=[3, 1.0], p=["x", "y"]), expected)


def test_a_division_by_zero_is_infinite_or_no_number() -> None:
    assert same(values("a / b", a=[1.0, -1.0, 0.0], b=[0.0, -0.0, 0.0]), [math.inf, -math.inf, NAN])
    assert same(values("1 / (0 * a)", a=[1.0]), [math.inf])


def test_a_row_that_lacks_any_column_of_it_does_not_count() -> None:
    odd: list[Any] = [None, NAN, "1", b"1", Decimal(1), True]
    assert same(values("a + b", a=odd, b=[1.0] * 6), [NAN] * 6)
    assert same(values("case when b = 1 then b else a end", a=odd, b=[1.0] * 6), [NAN] * 6)
    assert same(values("case when p = 'x' then 1 else 2 end", p=["x", None, b"x"]), [1.0, NAN, NAN])
    assert same(values("case when p != 'x' then 1 else 2 end", p=["x", None]), [2.0, NAN])
    assert same(values("case when i > 0 then 1 else 2 end", i=[2**63, 1.0, None, 1]), [NAN, NAN, NAN, 1.0])


def test_a_branch_that_is_not_taken_does_not_matter() -> None:
    assert same(values("case when b != 0 then a / b else 0 end", a=[0.0, 6.0], b=[0.0, 3.0]), [0.0, 2.0])


def test_a_comparison_with_no_number_is_not_met() -> None:
    for operator in ("=", "!=", "<", "<=", ">", ">="):
        assert values(f"case when a / a {operator} 1 then 1 else 2 end", a=[0.0]) == [2.0]


@pytest.mark.parametrize("text", ["min(a / a, b)", "max(a / a, b)", "min(b, a / a, 1)"])
def test_no_number_goes_through_min_and_max(text: str) -> None:
    assert same(values(text, a=[0.0], b=[1.0]), [NAN])


def test_there_is_no_negative_zero_to_divide_by() -> None:
    assert values("1 / a", a=[-0.0]) == [math.inf]
    assert values("1 / min(-a, 0)", a=[0.0]) == [math.inf]
    assert values("1 / -0", a=[0.0]) == [math.inf]


def test_whole_numbers_beyond_2_53_are_the_nearest_floats() -> None:
    assert values("i + 0", i=[2**53 + 1, 2**53 + 3, 2**63 - 1]) == [2.0**53, 2.0**53 + 4, 2.0**63]
    assert values("i - 9007199254740992", i=[2**53 + 1]) == [0.0]
    assert values("i / 2", i=[7]) == [3.5]


strange = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=2) | st.binary(max_size=2)
rows_of = st.lists(st.tuples(strange, strange, strange, strange), min_size=1, max_size=40)
leaves = st.sampled_from([Column("a"), Column("b"), Column("i")]) | st.floats(
    allow_nan=False, allow_infinity=False
).map(lambda value: Number(Decimal(repr(value))))


def _larger(of: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    tests = st.builds(Test, of, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), of)
    return st.one_of(
        st.builds(Operation, st.sampled_from(["+", "-", "*", "/"]), of, of),
        of.map(negated),
        of.map(lambda one: Call("abs", (one,))),
        st.builds(
            lambda f, a: Call(f, tuple(a)), st.sampled_from(["min", "max"]), st.lists(of, min_size=2, max_size=3)
        ),
        st.builds(lambda t, then, other: Case((((t,), then),), other), tests, of, of | st.none()),
    )


expressions = st.recursive(leaves, _larger, max_leaves=8)


def _one_by_one(expression: Expression, row: dict[str, float]) -> float:
    """The same, by Python's own floats, a row at a time."""
    match expression:
        case Number():
            return float(expression.value)
        case Column():
            return row[expression.name]
        case Negated():
            return -_one_by_one(expression.of, row)
        case Operation():
            left, right = _one_by_one(expression.left, row), _one_by_one(expression.right, row)
            if expression.operator == "/" and right == 0:
                return NAN if left == 0 or math.isnan(left) else math.copysign(math.inf, left) * math.copysign(1, right)
            return {"+": left + right, "-": left - right, "*": left * right}.get(
                expression.operator, left / right if right else NAN
            )
        case Call(function="abs"):
            return abs(_one_by_one(expression.arguments[0], row))
        case Call():
            every = [_one_by_one(one, row) for one in expression.arguments]
            return NAN if any(map(math.isnan, every)) else (min if expression.function == "min" else max)(every) + 0.0
        case Case():
            ((((condition,), then),), otherwise) = expression.branches, expression.otherwise
            assert isinstance(condition, Test)
            left, right = _one_by_one(condition.left, row), _one_by_one(condition.right, row)
            met = {"=": left == right, "!=": left != right, "<": left < right, "<=": left <= right}
            met |= {">": left > right, ">=": left >= right}
            if met[condition.operator] and not math.isnan(left) and not math.isnan(right):
                return _one_by_one(then, row)
            return NAN if otherwise is None else _one_by_one(otherwise, row)


@given(expressions, rows_of, st.integers(1, 40))
def test_a_row_s_value_depends_on_that_row_alone_and_nothing_raises(
    expression: Expression, rows: list[tuple[Any, ...]], size: int
) -> None:
    def of(some: list[tuple[Any, ...]]) -> list[float]:
        columns = dict(zip("abip", map(list, zip(*some, strict=True)), strict=True))
        return evaluated(expression, columns, KINDS, len(some)).tolist()

    whole = of(rows)
    assert same([value for at in range(0, len(rows), size) for value in of(rows[at : at + size])], whole)
    assert same([of([row])[0] for row in rows], whole)


numbers = st.floats(allow_nan=False) | st.sampled_from([0.0, 1.0, -1.0, math.inf, 5e-324, 1e308])


@given(expressions, numbers, numbers, st.integers(-(2**63), 2**63 - 1))
def test_the_value_is_that_of_python_s_floats(expression: Expression, a: float, b: float, i: int) -> None:
    found = evaluated(expression, {"a": [a], "b": [b], "i": [i], "p": [""]}, KINDS, 1)[0]
    expected = _one_by_one(expression, {"a": a + 0.0, "b": b + 0.0, "i": float(i)})
    assert found == expected or (np.isnan(found) and math.isnan(expected))
