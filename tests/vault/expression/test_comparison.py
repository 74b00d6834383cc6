from decimal import Decimal

import pytest
from hypothesis import given

from tests.vault.expression.expressions import comparisons
from vault.expression import Comparison


@given(comparisons)
def test_the_order_of_the_values_of_in_does_not_matter(comparison: Comparison) -> None:
    assert Comparison(comparison.column, comparison.operator, comparison.values[::-1]) == comparison


def test_in_of_one_value_is_equality() -> None:
    assert Comparison("a", "in", (Decimal("1.0"), Decimal(1))) == Comparison("a", "=", (Decimal("1e0"),))


def test_conditions_stand_by_column_then_by_operator() -> None:
    texts = ["b = 1", "a in (1, 2)", "a < 1", "a = 2"]
    made = [
        Comparison("b", "=", (Decimal(1),)),
        Comparison("a", "in", (Decimal(2), Decimal(1))),
        Comparison("a", "<", (Decimal(1),)),
        Comparison("a", "=", (Decimal(2),)),
    ]
    assert [str(one) for one in made] == texts
    assert [str(one) for one in sorted(made, key=lambda one: one.place)] == ["a = 2", "a < 1", "a in (1, 2)", "b = 1"]


@pytest.mark.parametrize(
    ("operator", "values"),
    [
        ("=", ()),
        ("=", (Decimal(1), Decimal(2))),
        ("in", ()),
        ("in", (Decimal(1), "a")),
        ("like", ("a",)),
        ("==", ("a",)),
    ],
)
def test_a_comparison_that_says_nothing_cannot_be_made(operator: str, values: tuple[Decimal | str, ...]) -> None:
    with pytest.raises(ValueError):
        Comparison("a", operator, values)  # type: ignore[arg-type]


def test_numbers_that_are_no_numbers_cannot_be_compared_with() -> None:
    with pytest.raises(ValueError, match="finite"):
        Comparison("a", "=", (Decimal("NaN"),))
