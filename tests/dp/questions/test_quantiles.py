from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp.caps import Caps
from dp.errors import ParameterError
from dp.grid import Grid
from dp.noise.random_source import OperatingSystemRandom
from dp.price import Price
from dp.questions.mechanisms import RandomMechanisms
from dp.questions.quantiles import HIGH, LOW, MEDIAN, Ordered, Quantiles
from dp.questions.question import Aggregates
from tests.dp.questions.replay import aggregates_of
from tests.dp.rows import Row
from tests.dp.seeded import SeededRandom
from tests.sizes import sized

HUNDRED = Grid.of(0, 100, 1)
QUIET = Price.pure(10**18)
VALUES = st.lists(st.integers(-3, 15), max_size=30)
FRACTIONS = st.fractions(min_value=Fraction(1, 50), max_value=Fraction(49, 50), max_denominator=50)


def ordered(question: Quantiles, values: list[int]) -> Ordered:
    aggregates = aggregates_of(question, [Row(unit, 0, 0, float(value)) for unit, value in enumerate(values)])
    assert isinstance(aggregates, Ordered)
    return aggregates


@given(values=VALUES, fraction=FRACTIONS)
@settings(deadline=None)
def test_the_score_of_a_candidate_is_its_distance_from_the_rank_that_was_asked_for(
    values: list[int], fraction: Fraction
) -> None:
    question = Quantiles(Caps(1), Grid.of(0, 12, 1), (fraction,))
    (of_group,) = ordered(question, values).values
    clamped = [min(max(value, 0), 12) for value in values]
    p, q = fraction.numerator, fraction.denominator
    assert of_group.tolist() == sorted(clamped)
    assert question.scores(of_group, fraction).tolist() == [
        -max(
            0,
            q * sum(x < r for x in clamped) - p * len(clamped),
            q * sum(x > r for x in clamped) - (q - p) * len(clamped),
        )
        for r in range(13)
    ]


@given(values=st.lists(st.integers(0, 100), min_size=1, max_size=60), fraction=FRACTIONS)
@settings(deadline=None)
def test_without_noise_it_is_a_quantile_also_where_many_rows_share_a_value(
    values: list[int], fraction: Fraction
) -> None:
    question = Quantiles(Caps(1), HUNDRED, (fraction,))
    (answer,) = question.release(ordered(question, values), QUIET, RandomMechanisms(SeededRandom(1)))
    below, above = sum(x < answer.value for x in values), sum(x > answer.value for x in values)
    assert below <= fraction * len(values) <= len(values) - above


@pytest.mark.parametrize(
    ("lower", "upper", "step", "n"),
    [
        (0, 1, 1, 2),
        (0, 2**16 - 1, 1, 2**16),
        (0, 2**16, 1, 2**15 + 1),
        (-(2**62), 2**62, 1, 2**16 - 1),
        (0, 10, "0.5", 21),
    ],
)
def test_the_candidates_are_the_grid_or_every_so_manieth_point_of_it(lower: int, upper: int, step: Any, n: int) -> None:
    candidates = Quantiles(Caps(1), Grid.of(lower, upper, step)).candidates.tolist()
    assert len(candidates) == n <= 2**16
    assert candidates[0] == Fraction(lower) / Fraction(step)
    widths = {high - low for low, high in pairwise(candidates)}
    assert len(widths) == 1
    assert 0 <= Fraction(upper) / Fraction(step) - candidates[-1] < widths.pop()


def test_an_answer_is_on_the_grid_in_the_unit_of_the_values() -> None:
    question = Quantiles.of(Caps(1), Grid.of("0", "1", "0.01"), ("0.25", "0.5"))
    rows = [Row(unit, 0, 0, unit / 100) for unit in range(101)]
    answers = question.release(aggregates_of(question, rows), QUIET, RandomMechanisms(SeededRandom(1)))
    assert [answer.value for answer in answers] == [Fraction(1, 4), Fraction(1, 2)]
    assert [answer.group for answer in answers] == [0, 1]


def test_several_quantiles_of_several_groups_come_by_group() -> None:
    question = Quantiles(Caps(1), HUNDRED, (LOW, MEDIAN, HIGH), 2)
    rows = [Row(1000 * group + unit, group, 0, float(unit % 51 + 50 * group)) for group in range(2) for unit in range(999)]  # fmt: skip  # noqa: E501
    answers = question.release(aggregates_of(question, rows), QUIET, RandomMechanisms(SeededRandom(1)))
    assert [answer.group for answer in answers] == list(range(6))
    assert [int(answer.value) for answer in answers] == [2, 24, 48, 52, 74, 98]


def test_epsilon_is_shared_by_quantiles_and_by_the_groups_of_a_unit() -> None:
    question = Quantiles(Caps(3, 2), HUNDRED, (Fraction(1, 4), MEDIAN), 5)
    assert [question.sensitivity(fraction) for fraction in question.fractions] == [9, 3]
    assert question.exponents(Price.pure(7)) == (Fraction(3, 2 * 9 * 2 * 10**9), Fraction(4, 2 * 3 * 2 * 10**9))
    noise = question.noise(Price.pure(7))
    assert [(of.part, of.nano_epsilon) for of in noise] == [("quantile 1/4", 3), ("quantile 1/2", 4)]
    # 2*c*k*max(p, q-p) / (q * epsilon), in rows
    assert [of.scale for of in noise] == [Fraction(2 * 3 * 2 * 3 * 10**9, 4 * 3), Fraction(2 * 3 * 2 * 10**9, 2 * 4)]
    assert Quantiles(Caps(3, 2), HUNDRED).exponents(Price.pure(7)) == (Fraction(7, 2 * 3 * 10**9),)


@pytest.mark.parametrize("fraction", [LOW, MEDIAN, Fraction(9, 10)])
def test_the_rank_is_off_by_no_more_than_the_interval_says_as_often_as_it_says(fraction: Fraction) -> None:
    question, runs = Quantiles(Caps(1), HUNDRED, (fraction,)), sized(300, 20_000)
    values = np.random.default_rng(3).integers(0, 101, 1000).tolist()
    aggregates, mechanisms = ordered(question, values), RandomMechanisms(OperatingSystemRandom())
    scores = question.scores(aggregates.values[0], fraction)
    off = []
    for _ in range(runs):
        (answer,) = question.release(aggregates, Price.pure(10**8), mechanisms)
        off.append(Fraction(int(scores.max() - scores[int(answer.value)]), fraction.denominator))
        low, high = answer.interval
        assert -low == high > 0
    assert sum(each <= high for each in off) / runs >= 0.95
    assert max(off) > high / 20  # and says something


def test_a_low_quantile_finds_what_a_minimum_would_not() -> None:
    question = Quantiles(Caps(1), HUNDRED, (LOW,))
    values = np.random.default_rng(5).integers(40, 101, 1000).tolist()
    aggregates, mechanisms = ordered(question, values), RandomMechanisms(OperatingSystemRandom())
    answers = [int(question.release(aggregates, Price.pure(10**9), mechanisms)[0].value) for _ in range(100)]
    assert 40 <= np.mean(answers) <= 45


@pytest.mark.parametrize("fractions", [(), (Fraction(0),), (Fraction(1),), (Fraction(-1, 2),), (0.5,), [MEDIAN], (MEDIAN, MEDIAN), None, (Fraction(1, 10_001),)])  # fmt: skip  # noqa: E501
def test_what_is_no_quantile_is_refused(fractions: Any) -> None:
    with pytest.raises(ParameterError, match=r"^fractions: "):
        Quantiles(Caps(1), HUNDRED, fractions)


def test_k18_05_between_equal_bounds_there_is_nothing_to_ask() -> None:
    with pytest.raises(ParameterError, match=r"^bounds: .*every quantile is that bound"):
        Quantiles(Caps(1), Grid.of(5, 5, 1))


def test_the_totals_of_another_question_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"^aggregates: "):
        Quantiles(Caps(1), HUNDRED).release(Aggregates(((1,),)), QUIET, RandomMechanisms(SeededRandom(1)))


def test_the_values_do_not_show_themselves() -> None:
    assert "41" not in repr(ordered(Quantiles(Caps(1), HUNDRED), [41]))
