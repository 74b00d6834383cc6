import random
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.vault.question.questions import comparisons, questions
from vault.question import Comparison, Question, parse


@given(questions)
def test_the_canonical_text_reads_as_the_same_question(question: Question) -> None:
    assert parse(question.canonical()) == question


@given(questions)
def test_the_canonical_text_is_a_fixed_point(question: Question) -> None:
    assert parse(question.canonical()).canonical() == question.canonical()


@given(questions, st.randoms(use_true_random=False))
def test_order_and_repetition_of_conditions_and_groups_do_not_matter(
    question: Question, shuffle: random.Random
) -> None:
    where, by = list(question.where) * 2, list(question.by) * 2
    shuffle.shuffle(where)
    shuffle.shuffle(by)
    again = Question(question.aggregate, question.column, tuple(where), tuple(by))
    assert again == question
    assert hash(again) == hash(question)
    assert again.canonical() == question.canonical()


@given(questions, questions)
def test_equal_texts_mean_equal_questions(one: Question, other: Question) -> None:
    assert (one == other) == (one.canonical() == other.canonical())


@given(comparisons)
def test_the_order_of_the_values_of_in_does_not_matter(comparison: Comparison) -> None:
    assert Comparison(comparison.column, comparison.operator, comparison.values[::-1]) == comparison


def test_in_of_one_value_is_equality() -> None:
    assert Comparison("a", "in", (Decimal("1.0"), Decimal(1))) == Comparison("a", "=", (Decimal("1e0"),))


def test_a_question_knows_the_columns_it_reads() -> None:
    assert parse("mean(c) where b = 1 and a > 2 and b < 3 by a, d").columns == ("a", "b", "c", "d")
    assert parse("count").columns == ()


@pytest.mark.parametrize(
    ("aggregate", "column"), [("count", "a"), ("sum", None), ("mean", None), ("median", "a"), ("SUM", "a")]
)
def test_an_aggregate_that_does_not_exist_cannot_be_made(aggregate: str, column: str | None) -> None:
    with pytest.raises(ValueError):
        Question(aggregate, column)  # type: ignore[arg-type]


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
