import os
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp.interval import choice_half_width, gaussian_half_width, half_width, ratio_interval
from dp.noise.discrete_laplace_batch import sample_many
from dp.noise.random_source import OperatingSystemRandom
from tests.sizes import sized

SCALES = st.builds(Fraction, st.integers(1, 10**9), st.integers(1, 10**9))
MISSES = st.builds(Fraction, st.just(1), st.integers(2, 1000))


def tail(t: int, scale: Fraction) -> Decimal:
    """P(|Z| > t), to sixty digits."""
    with localcontext(prec=60):
        b = Decimal(scale.numerator) / scale.denominator
        return 2 * (-(t + 1) / b).exp() / (1 + (-1 / b).exp())


@given(scale=SCALES, miss=MISSES)
@settings(deadline=None)
def test_the_noise_is_wider_so_often_and_no_narrower_interval_would_do(scale: Fraction, miss: Fraction) -> None:
    t = half_width(scale, miss)
    missed = Decimal(miss.numerator) / miss.denominator
    assert tail(t, scale) <= missed
    assert t == 0 or tail(t - 1, scale) > missed * (1 - Decimal("1e-20"))


@pytest.mark.parametrize("scale", [1.0, 10.0, 1234.5])
def test_it_agrees_with_opendp(scale: float) -> None:
    os.environ.setdefault("RUST_BACKTRACE", "0")
    import opendp.prelude as opendp

    # Theirs is a real number a with P(|Z| >= a) = alpha, ours the integer t with P(|Z| >= t+1) <= alpha.
    theirs = opendp.discrete_laplacian_scale_to_accuracy(scale=scale, alpha=0.05)
    assert half_width(Fraction(scale)) + 1 == int(np.ceil(theirs))


def test_k21_03_the_truth_lies_inside_as_often_as_promised() -> None:
    runs, scale = sized(20_000, 500_000), Fraction(2)
    t = half_width(scale)
    inside = sum(abs(z) <= t for z in sample_many(scale, runs, OperatingSystemRandom())) / runs
    assert 0.94 <= inside <= 0.985
    assert abs(inside - (1 - float(tail(t, scale)))) < 5 * (0.05 / runs) ** 0.5


def test_a_scale_beyond_all_measure_has_an_interval() -> None:
    assert half_width(Fraction(1, 10**18)) == 0
    assert 2**160 < half_width(Fraction(2**160)) < 2**163


def gaussian_tail(t: int, variance: float) -> float:
    """P(|Z| > t) of the discrete Gaussian."""
    z = np.arange(-60 * int(variance**0.5 + 2), 60 * int(variance**0.5 + 2) + 1, dtype=np.float64)
    weights = np.exp(-(z**2) / (2 * variance))
    return float(weights[np.abs(z) > t].sum() / weights.sum())


@given(variance=st.fractions(min_value=Fraction(1, 1000), max_value=20_000), miss=MISSES)
@settings(deadline=None)
def test_gaussian_noise_is_wider_so_often_at_most_and_hardly_less(variance: Fraction, miss: Fraction) -> None:
    t = gaussian_half_width(variance, miss)
    assert gaussian_tail(t, float(variance)) <= float(miss) * (1 + 1e-9)
    too_narrow = t - 1 if variance <= 10_000 else t - 3
    assert too_narrow < 0 or gaussian_tail(too_narrow, float(variance)) > float(miss) * (1 - 1e-9)


def test_a_variance_beyond_all_measure_has_an_interval() -> None:
    assert gaussian_half_width(Fraction(1, 10**18)) == 0
    assert 1.95 < gaussian_half_width(Fraction(2**400)) / 2**200 < 1.97


@given(scale=st.fractions(min_value=Fraction(1, 1000), max_value=10**9), n=st.integers(1, 2**16))
def test_no_candidate_so_much_worse_is_chosen_more_often(scale: Fraction, n: int) -> None:
    t = choice_half_width(scale, n)
    assert (n - 1) * np.exp(-t / float(scale)) <= 0.05 * (1 + 1e-6)
    assert t == 0 or (n - 1) * np.exp(-(t - 1) / float(scale)) > 0.05 * (1 - 1e-6)


@given(
    above=st.tuples(st.integers(-50, 50), st.integers(0, 20)),
    below=st.tuples(st.integers(-20, 20), st.integers(0, 20)),
    span=st.tuples(st.integers(-10, 0), st.integers(0, 10)),
)
def test_every_ratio_in_reach_lies_in_its_interval(
    above: tuple[int, int], below: tuple[int, int], span: tuple[int, int]
) -> None:
    numerators = range(above[0], above[0] + above[1] + 1)
    counts = range(max(1, below[0]), below[0] + below[1] + 1)
    low, high = ratio_interval((numerators[0], numerators[-1]), (below[0], below[0] + below[1]), span)
    assert span[0] <= low <= high <= span[1]
    for numerator in numerators:
        for count in counts:
            assert not span[0] <= Fraction(numerator, count) <= span[1] or low <= Fraction(numerator, count) <= high


def test_of_a_count_that_cannot_be_one_only_the_bounds_are_known() -> None:
    assert ratio_interval((5, 6), (-3, 0), (-1, 2)) == (-1, 2)
