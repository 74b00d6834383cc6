from collections import Counter
from fractions import Fraction
from math import log

import numpy as np
import pytest

from dp.answer import NoiseScale
from dp.caps import Caps
from dp.noise.random_source import OperatingSystemRandom
from dp.price import Price
from dp.questions.count import Count
from dp.questions.mechanisms import RandomMechanisms
from dp.questions.question import Aggregates, release
from tests.dp.questions.replay import aggregates_of
from tests.dp.rows import Row
from tests.sizes import sized

LN_3 = int(log(3) * 10**9)


def counts(truth: int, nano: int, runs: int) -> list[Fraction]:
    """So many answers of the core beneath the answer store."""
    question, mechanisms = Count(Caps(1)), RandomMechanisms(OperatingSystemRandom())
    aggregates = aggregates_of(question, [Row(unit, 0, 0) for unit in range(truth)])
    return [question.release(aggregates, Price.pure(nano), mechanisms)[0].value for _ in range(runs)]


def test_k18_01_counts_are_integers_with_the_same_support_and_a_ratio_of_three() -> None:
    runs = sized(8_000, 200_000)
    of_none, of_one = (counts(truth, LN_3, runs) for truth in (0, 1))
    assert all(count.denominator == 1 for count in (*of_none, *of_one))
    seen, also = Counter(of_none), Counter(of_one)
    for one, other in ((seen, also), (also, seen)):
        for count, times in one.items():
            if times >= 50:
                assert other[count] > 0
                assert times / other[count] <= 3 * (1 + 5 * (1 / times + 1 / other[count]) ** 0.5)
    # The other way round: the noise is no larger than it has to be, since some events do differ by nearly three.
    assert seen[Fraction(0)] / also[Fraction(0)] > 2.5


def test_a_count_that_spent_half_as_much_noise_would_be_caught() -> None:
    runs = sized(8_000, 200_000)
    of_none, of_one = (Counter(counts(truth, 2 * LN_3, runs)) for truth in (0, 1))
    ratio = of_none[Fraction(0)] / max(of_one[Fraction(0)], 1)
    assert ratio > 3 * (1 + 5 * (1 / of_none[Fraction(0)] + 1 / max(of_one[Fraction(0)], 1)) ** 0.5)


def test_k20_05_the_noise_grows_with_the_cap() -> None:
    rows = [Row(person, 0, row) for person in range(1000) for row in range(1 + person % 4)]
    questions = [Count(Caps(cap)) for cap in (1, 2, 4)]
    assert [aggregates_of(question, rows).totals for question in questions] == [((1000,),), ((1750,),), ((2500,),)]
    assert [question.noise(Price.pure(5 * 10**8))[0].scale for question in questions] == [2, 4, 8]


def test_k21_05_ten_times_the_epsilon_is_a_tenth_of_the_spread() -> None:
    runs = sized(2_000, 100_000)
    wide, narrow = (np.std([float(count) for count in counts(5, nano, runs)]) for nano in (10**8, 10**9))
    assert 8 <= wide / narrow <= 13


def test_k21_03_the_truth_lies_in_the_stated_interval_as_often_as_stated() -> None:
    question, mechanisms = Count(Caps(1)), RandomMechanisms(OperatingSystemRandom())
    aggregates = Aggregates(((1000,),))
    runs = sized(2_000, 100_000)
    answers = [question.release(aggregates, Price.pure(5 * 10**8), mechanisms)[0] for _ in range(runs)]
    inside = sum(answer.interval[0] <= 1000 <= answer.interval[1] for answer in answers)
    assert 0.94 <= inside / runs <= 0.985


def test_a_noisy_count_may_be_negative() -> None:
    assert min(counts(0, 10**8, 200)) < 0


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e308])
def test_values_are_not_looked_at(value: float) -> None:
    assert aggregates_of(Count(Caps(1)), [Row(1, 0, 0, value)]).totals == ((1,),)


def test_a_count_spends_all_of_epsilon_on_its_one_part() -> None:
    assert Count(Caps(1)).noise(Price.pure(7)) == (NoiseScale("count", Fraction(10**9, 7), 7),)
    assert release(Count(Caps(1)), "", Aggregates(((3,),)), Price.pure(7)).noise[0].part == "count"
