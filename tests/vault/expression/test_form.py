import random
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.vault.expression.expressions import expressions
from vault.expression import (
    Call,
    Case,
    Column,
    Comparison,
    Expression,
    Negated,
    Number,
    Operation,
    Test,
    parse_expression,
)
from vault.expression.form import columns_of, negated, parts_of

A, B, C = Column("a"), Column("b"), Column("c")


@given(expressions)
def test_the_text_reads_as_the_same_expression(expression: Expression) -> None:
    assert parse_expression(str(expression)) == expression


@given(expressions, expressions)
def test_equal_texts_mean_equal_expressions(one: Expression, other: Expression) -> None:
    assert (one == other) == (str(one) == str(other))


@given(expressions, expressions, st.randoms(use_true_random=False))
def test_what_ieee_lets_change_places_has_one_order(one: Expression, other: Expression, shuffle: random.Random) -> None:
    for operator in ("+", "*"):
        assert Operation(operator, one, other) == Operation(operator, other, one)  # type: ignore[arg-type]
    several = [one, other, A]
    shuffle.shuffle(several)
    assert Call("min", tuple(several)) == Call("min", (one, other, A))
    assert Call("max", (one, Call("max", (other, A)))) == Call("max", (A, one, other, one))
    assert Test(one, "<", other) == Test(other, ">", one)
    assert Test(one, "=", other) == Test(other, "=", one)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("c + a + b", "a + c + b"),
        ("a + (b + c)", "b + c + a"),
        ("(a + b) + c", "a + b + c"),
        ("a - (b - c)", "a - (b - c)"),
        ("a - b - c", "a - b - c"),
        ("a / (b / c)", "a / (b / c)"),
        ("2 * a", "a * 2"),
        ("(a + b) * c", "(a + b) * c"),
        ("-(a + b)", "-(a + b)"),
        ("- -a", "a"),
        ("-(-2)", "2"),
        ("a - -b", "a - -b"),
        ("-a * b", "-a * b"),
        ("-(a * b)", "-(a * b)"),
        ("1.0 * a", "a * 1"),
        ("a + 0.1000000000000000055", "a + 0.1"),
        ("case when 3 < a then 1 else 0 end", "case when a > 3 then 1 else 0 end"),
        ("case when b > a and b = 1 then a end", "case when a < b and b = 1 then a end"),
        (
            "case when a in (2, 1) then 1 when p = 'x' then 2 end",
            "case when a in (1, 2) then 1 when p = 'x' then 2 end",
        ),
        ("case when a in (1) then b end", "case when a = 1 then b end"),
        ("case when a between 1 and 2 then b end", "case when a <= 2 and a >= 1 then b end"),
        (
            "case when a = 1 then (case) when a = 2 then b - case end",
            "case when a = 1 then (case) when a = 2 then (b - case) end",
        ),
    ],
)
def test_an_expression_has_one_text(text: str, canonical: str) -> None:
    assert str(parse_expression(text)) == canonical
    assert str(parse_expression(canonical)) == canonical


@pytest.mark.parametrize(
    ("one", "other"), [("a + b + c", "a + (b + c)"), ("a - b", "b - a"), ("a * b * c", "a * (b * c)")]
)
def test_nothing_is_associated_anew(one: str, other: str) -> None:
    assert parse_expression(one) != parse_expression(other)


def test_what_says_nothing_cannot_be_made() -> None:
    for make in (
        lambda: Number(Decimal("1e309")),
        lambda: Number(Decimal("NaN")),
        lambda: Negated(Number(Decimal(1))),
        lambda: Negated(Negated(A)),
        lambda: Call("abs", (A, B)),
        lambda: Call("min", (A,)),
        lambda: Case(()),
        lambda: Case((((), A),)),
        lambda: Case((((Comparison("a", "=", (Decimal(1),)),), A),)),
    ):
        with pytest.raises(ValueError):
            make()


def test_the_opposite_of_the_opposite_is_the_same() -> None:
    assert negated(negated(A)) == A
    assert negated(Number(Decimal(0))) == Number(Decimal(0))
    assert negated(Number(Decimal(2))) == Number(Decimal(-2))


def test_an_expression_knows_its_parts_and_columns() -> None:
    case = parse_expression("case when a = 'x' and b > 1 then -c else abs(d / 2) end")
    assert columns_of(case) == {"a", "b", "c", "d"}
    assert Number(Decimal(2)) in parts_of(case)
    assert columns_of(Number(Decimal(1))) == frozenset()
