import os
from collections import Counter
from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp.errors import ParameterError
from dp.noise.exponential_bits import exp_bounds
from dp.noise.random_source import OperatingSystemRandom
from dp.noise.randomized_response import RandomizedResponse, _lie_threshold, tell_with_random
from tests.dp.goodness_of_fit import FALSE_ALARM, assert_same, counts_p_value
from tests.dp.seeded import RecordingRandom, SeededRandom
from tests.sizes import sized

NANO = 10**9
LN_3 = 1_098_612_288


def told_as(truth: int, epsilon: float, categories: int) -> list[float]:
    """With which probability each category is told."""
    whole = exp(epsilon) + categories - 1
    return [exp(epsilon) / whole if category == truth else 1 / whole for category in range(categories)]


@pytest.mark.parametrize(
    ("truth", "categories", "nano"), [(0, 2, LN_3), (1, 2, LN_3), (1, 2, NANO // 2), (2, 3, NANO), (0, 7, 2 * NANO)]
)
def test_each_category_is_told_as_often_as_epsilon_says(truth: int, categories: int, nano: int) -> None:
    n = sized(20_000, 300_000)
    told = Counter(RandomizedResponse(nano, categories).tell_many([truth] * n))
    seen = [told[category] for category in range(categories)]
    for factor, fits in ((1, True), (0.7, False), (1.3, False)):
        claimed = told_as(truth, factor * nano / NANO, categories)
        assert (counts_p_value(seen, claimed) > FALSE_ALARM) is fits


@pytest.mark.parametrize("categories", [2, 4])
def test_it_tells_what_opendp_tells(categories: int) -> None:
    os.environ.setdefault("RUST_BACKTRACE", "0")
    import opendp.prelude as opendp

    opendp.enable_features("contrib")
    n, epsilon = sized(2_000, 100_000), 1.0
    told = opendp.m.make_randomized_response(
        [str(category) for category in range(categories)], prob=told_as(0, epsilon, categories)[0]
    )
    assert told.map(1) == pytest.approx(epsilon)
    theirs = [int(told("1")) for _ in range(n)]
    assert_same(RandomizedResponse(NANO, categories).tell_many([1] * n), theirs)


@given(nano=st.integers(1, 60 * NANO), categories=st.one_of(st.integers(2, 9), st.integers(2, 2**31 - 1)))
@settings(deadline=None, max_examples=sized(15, 60))
def test_the_log_ratio_is_the_epsilon_that_is_charged(nano: int, categories: int) -> None:
    bits = 320
    lies = Fraction(_lie_threshold(RandomizedResponse(nano, categories), bits), 2**bits)
    p, q = 1 - lies, lies / (categories - 1)
    low, high = exp_bounds(Fraction(nano, NANO), 60)
    assert Fraction(low) * (1 - Fraction(1, 10**30)) < q / p < Fraction(high) * (1 + Fraction(1, 10**30))
    assert q < p


@given(nano=st.integers(1, 60 * NANO), categories=st.integers(2, 2**31 - 1))
@settings(deadline=None, max_examples=sized(10, 40))
def test_more_bits_begin_with_fewer_bits(nano: int, categories: int) -> None:
    response = RandomizedResponse(nano, categories)
    assert _lie_threshold(response, 128) >> 64 == _lie_threshold(response, 64)


class Words:
    """Gives these words, and the last other category."""

    def __init__(self, *words: int) -> None:
        self.words = list(words)

    def below(self, n: int) -> int:
        return n - 1

    def bytes(self, n: int) -> bytes:
        return self.words.pop(0).to_bytes(n, "little")


@pytest.mark.parametrize(("categories", "lie"), [(2, 1), (5, 4)])
def test_bits_equal_to_the_probability_are_followed_further(categories: int, lie: int) -> None:
    response = RandomizedResponse(LN_3, categories)
    first = _lie_threshold(response, 64)
    second = _lie_threshold(response, 128) & (2**64 - 1)
    third = _lie_threshold(response, 192) & (2**64 - 1)
    for words, told in (
        ([first - 1], lie),
        ([first + 1], 0),
        ([first, second - 1], lie),
        ([first, second + 1], 0),
        ([first, second, third - 1], lie),
        ([first, second, third + 1], 0),
    ):
        random = Words(*words)
        assert tell_with_random(response, [0], random) == [told]
        assert not random.words


def test_the_bits_that_are_asked_for_do_not_depend_on_truth_or_lie() -> None:
    asked = []
    for seed in range(60):
        random = RecordingRandom(SeededRandom(seed))
        tell_with_random(RandomizedResponse(NANO, 3), [seed % 3], random)
        asked.append(random.asked)
    assert asked == [[("bytes", 8), ("below", 2)]] * 60


def test_one_answer_is_told_as_one_of_many_is() -> None:
    response = RandomizedResponse(NANO, 4)
    assert response.tell(3) in range(4)
    truths = [0, 1, 2, 3, 3]
    of_array = tell_with_random(response, np.array(truths), SeededRandom(5))
    assert of_array == tell_with_random(response, truths, SeededRandom(5))
    assert all(type(told) is int for told in of_array)
    assert set(RandomizedResponse(10**18, 3).tell_many([2] * 100)) == {2}


@pytest.mark.parametrize("truth", [-1, 2])
def test_a_truth_that_is_no_category_is_refused(truth: int) -> None:
    with pytest.raises(ParameterError, match="truth"):
        tell_with_random(RandomizedResponse(NANO), [truth], OperatingSystemRandom())


@pytest.mark.parametrize(("nano", "categories"), [(0, 2), (NANO, 1), (NANO, 2.0), (NANO, 2**31), (1.0, 2)])
def test_what_tells_nothing_is_refused(nano: int, categories: int) -> None:
    with pytest.raises(ParameterError):
        RandomizedResponse(nano, categories)
