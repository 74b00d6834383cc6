from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dp.debiasing import TrueCount, true_counts
from dp.errors import ParameterError
from dp.noise.randomized_response import RandomizedResponse
from tests.sizes import sized

NANO = 10**9


def told_with(true: int, total: int, nano: int, categories: int) -> np.ndarray:
    """The exact distribution of how often a category is told that is true of so many."""
    e = np.exp(nano / NANO)
    p, q = e / (e + categories - 1), 1 / (e + categories - 1)
    of_true = stats.binom.pmf(np.arange(true + 1), true, p)
    of_others = stats.binom.pmf(np.arange(total - true + 1), total - true, q)
    return np.convolve(of_true, of_others)


def answers(total: int, nano: int, categories: int) -> list[TrueCount]:
    """Of the first category, for each number of times it can be told."""
    response = RandomizedResponse(nano, categories)
    rest = [0] * (categories - 2)
    return [true_counts(response, [count, total - count, *rest])[0] for count in range(total + 1)]


@pytest.mark.parametrize(("nano", "categories"), [(NANO // 10, 2), (NANO, 2), (NANO, 5), (4 * NANO, 3), (20 * NANO, 2)])
def test_the_estimate_has_no_bias_and_its_interval_holds_nineteen_times_in_twenty(nano: int, categories: int) -> None:
    total = 60
    possible = answers(total, nano, categories)
    for true in range(0, total + 1, sized(5, 1)):
        likely = told_with(true, total, nano, categories)
        assert sum(p * float(a.count) for p, a in zip(likely, possible, strict=True)) == pytest.approx(true, abs=1e-6)
        held = sum(p for p, a in zip(likely, possible, strict=True) if a.interval[0] <= true <= a.interval[1])
        assert held >= 0.95


def test_an_interval_is_no_wider_than_it_has_to_be() -> None:
    # 10,000 answers, epsilon 1: the spread of the estimate is 96, and 1.96 of them are exactly enough.
    ((low, high),) = {true_counts(RandomizedResponse(NANO), [5000, 5000])[0].interval}
    assert 2 * 1.96 * 95 < high - low < 2 * 1.96 * 97 * 1.4


def test_it_finds_what_was_true_of_many() -> None:
    truths = [0] * 6000 + [1] * 3000 + [2] * 1000
    response = RandomizedResponse(2 * NANO, 3)
    told = np.bincount(response.tell_many(truths), minlength=3).tolist()
    for answer, true in zip(true_counts(response, told), (6000, 3000, 1000), strict=True):
        assert abs(answer.count - true) < 800  # seven times its spread


@given(
    told=st.lists(st.integers(0, 10**9), min_size=2, max_size=5),
    nano=st.one_of(st.integers(1, 10**11), st.sampled_from([1, 10**18])),
)
@settings(deadline=None, max_examples=sized(10, 30))
def test_estimates_add_up_to_all_and_intervals_lie_inside(told: list[int], nano: int) -> None:
    total = sum(told)
    found = true_counts(RandomizedResponse(nano, len(told)), told)
    assert abs(sum((answer.count for answer in found), Fraction(0)) - total) <= Fraction(len(told), NANO)
    for category, answer in enumerate(found):
        low, high = answer.interval
        assert answer.category == category
        assert 0 <= low <= high <= total
        assert low <= min(max(answer.count, 0), total) + 1
        assert high >= min(max(answer.count, 0), total) - 1


@pytest.mark.parametrize("nano", [60 * NANO, 10**18])
def test_without_noise_to_speak_of_the_told_is_the_true(nano: int) -> None:
    (zero, one) = true_counts(RandomizedResponse(nano), [17, 4])
    assert (zero.count, zero.interval) == (17, (17, 17))
    assert (one.count, one.interval) == (4, (4, 4))


def test_nobody_asked_is_nobody_counted() -> None:
    assert [answer.interval for answer in true_counts(RandomizedResponse(NANO), [0, 0])] == [(0, 0)] * 2


@pytest.mark.parametrize("told", [[1], [1, 2, 3], [1, -1], [1, 2.0], [True, 1]])
def test_counts_that_are_none_are_refused(told: list[int]) -> None:
    with pytest.raises(ParameterError, match="told"):
        true_counts(RandomizedResponse(NANO), told)
