import random
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.vault.question.questions import questions
from vault.expression import Call, Column
from vault.question import Question, parse


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
    again = replace(question, where=tuple(where), by=tuple(by), levels=question.levels[::-1])
    assert again == question
    assert hash(again) == hash(question)
    assert again.canonical() == question.canonical()


@given(questions, questions)
def test_equal_texts_mean_equal_questions(one: Question, other: Question) -> None:
    assert (one == other) == (one.canonical() == other.canonical())


def test_a_question_knows_the_columns_it_reads() -> None:
    assert parse("mean(c) where b = 1 and a > 2 and b < 3 by a, d").columns == ("a", "b", "c", "d")
    assert parse("count").columns == ()
    assert parse("sum(case when a = 'x' and b > c then d else 1 end) by e").columns == ("a", "b", "c", "d", "e")


@pytest.mark.parametrize(
    "parts",
    [
        {"aggregate": "count", "of": Column("a")},
        {"aggregate": "sum"},
        {"aggregate": "mean"},
        {"aggregate": "median", "of": Column("a")},
        {"aggregate": "SUM", "of": Column("a")},
        {"aggregate": "sum", "of": Column("a"), "levels": (Decimal("0.5"),)},
        {"aggregate": "quantile", "of": Column("a")},
        {"aggregate": "quantile", "of": Column("a"), "levels": (Decimal(1),)},
        {"aggregate": "quantile", "of": Column("a"), "levels": (Decimal("0.1234567"),)},
        {"aggregate": "quantile", "of": Column("a"), "levels": tuple(Decimal(at) / 1000 for at in range(1, 102))},
        {"aggregate": "top", "first": 3},
        {"aggregate": "top", "by": ("a",)},
        {"aggregate": "top", "by": ("a",), "first": 1001},
        {"aggregate": "count", "first": 3},
        {"aggregate": "count_distinct", "of": Call("abs", (Column("a"),))},
    ],
)
def test_an_aggregate_that_does_not_exist_cannot_be_made(parts: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        Question(**parts)
