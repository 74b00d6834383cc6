from collections import Counter
from fractions import Fraction
from math import exp
from typing import Any

import pytest

from dp.caps import Caps
from dp.errors import ParameterError
from dp.noise.random_source import OperatingSystemRandom
from dp.price import Price
from dp.questions.mechanisms import RandomMechanisms
from dp.questions.question import Aggregates
from dp.questions.top_groups import TopGroups
from tests.dp.questions.replay import aggregates_of
from tests.dp.rows import Row
from tests.dp.seeded import SeededRandom
from tests.sizes import sized

QUIET = Price.pure(10**18)


def test_without_noise_the_largest_come_in_order_with_their_counts() -> None:
    rows = [Row(unit, group, 0) for unit, group in enumerate([1, 1, 3, 2, 2, 2, 2])]
    question = TopGroups(Caps(1), 2, 5)
    answers = question.release(aggregates_of(question, rows), QUIET, RandomMechanisms(SeededRandom(1)))
    assert [(answer.group, answer.value) for answer in answers] == [(2, 4), (1, 2)]


def test_no_group_is_chosen_twice_and_all_of_them_can_be() -> None:
    question = TopGroups(Caps(1), 5, 5)
    for seed in range(20):
        answers = question.release(Aggregates(((3, 0, 0, 9, 1),)), Price.pure(10**7), RandomMechanisms(SeededRandom(seed)))  # fmt: skip  # noqa: E501
        assert sorted(answer.group for answer in answers) == [0, 1, 2, 3, 4]
        assert all(answer.interval[0] < answer.value < answer.interval[1] for answer in answers)


def test_epsilon_is_shared_by_the_choices_and_the_counts() -> None:
    question = TopGroups(Caps(3, 2), 4, 9)
    choice, count = question.noise(Price.pure(35))
    assert (choice.part, choice.nano_epsilon, choice.scale) == ("choice", 16, Fraction(3 * 10**9, 4))
    assert (count.part, count.nano_epsilon, count.scale) == ("count", 19, Fraction(3 * 2 * 10**9, 19))
    assert TopGroups(Caps(3, 9), 4, 9).of_counts(Price.pure(35)).part.l1 == 12  # c * min(k, m)
    with pytest.raises(ParameterError, match=r"^epsilon: .*0\.000000008"):
        question.noise(Price.pure(7))


def test_a_choice_falls_as_often_as_its_exponent_says() -> None:
    """Of two candidates the worse one wins with probability p / 2, p = exp(-exponent * gap)."""
    question, runs = TopGroups(Caps(1), 1, 2), sized(2_000, 200_000)
    mechanisms = RandomMechanisms(OperatingSystemRandom())
    chosen = Counter(question.release(Aggregates(((5, 4),)), Price.pure(2 * 10**9), mechanisms)[0].group for _ in range(runs))  # fmt: skip  # noqa: E501
    expected = exp(-1) / 2
    assert abs(chosen[1] / runs - expected) < 5 * (expected / runs) ** 0.5


@pytest.mark.parametrize("m", [0, -1, 4, True, None, 1.0])
def test_it_chooses_from_one_to_as_many_as_there_are(m: Any) -> None:
    with pytest.raises(ParameterError, match=r"^m: "):
        TopGroups(Caps(1), m, 3)
