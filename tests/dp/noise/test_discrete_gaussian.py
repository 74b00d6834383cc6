import os
from collections.abc import Callable
from fractions import Fraction
from math import exp, sqrt

import numpy as np
import pytest

from dp.noise.discrete_gaussian import _kept, _refusal, sample_discrete_gaussian, sample_many_gaussian
from dp.noise.random_source import OperatingSystemRandom
from tests.dp.goodness_of_fit import FALSE_ALARM, assert_fits, assert_same, gaussian, p_value
from tests.dp.seeded import RecordingRandom, ScriptedRandom, SeededRandom
from tests.sizes import sized


@pytest.mark.parametrize(
    "variance", [Fraction(1, 2), Fraction(1), Fraction(10, 3), Fraction(12_345), Fraction(2**160, 7)]
)
def test_draws_fit_the_claimed_sigma_and_no_other(variance: Fraction) -> None:
    draws = sample_many_gaussian(variance, sized(4_000, 1_000_000), OperatingSystemRandom())
    assert_fits(draws, sqrt(variance), gaussian)
    assert p_value(draws, sqrt(variance)) < FALSE_ALARM  # a Laplace of this scale is something else


@pytest.mark.parametrize("variance", [Fraction(3, 4), Fraction(900)])
def test_single_draws_fit_too(variance: Fraction) -> None:
    random = OperatingSystemRandom()
    draws = [sample_discrete_gaussian(variance, random) for _ in range(sized(3_000, 200_000))]
    assert_fits(draws, sqrt(variance), gaussian)
    assert_same(draws, sample_many_gaussian(variance, len(draws), random))


@pytest.mark.parametrize("sigma", [1.0, 10.0])
def test_it_draws_what_opendp_draws(sigma: float) -> None:
    os.environ.setdefault("RUST_BACKTRACE", "0")
    import opendp.prelude as opendp

    opendp.enable_features("contrib")
    n = sized(5_000, 300_000)
    oracle = opendp.m.make_gaussian(
        opendp.vector_domain(opendp.atom_domain(T="i64")), opendp.l2_distance(T=float), scale=sigma
    )
    assert_same(sample_many_gaussian(Fraction(sigma) ** 2, n, OperatingSystemRandom()), oracle([0] * n))


@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(1), Fraction(50, 3), Fraction(10**30)])
def test_proposed_times_kept_is_the_distribution(variance: Fraction) -> None:
    # exp(-|y| / t) * exp(-x) is exp(-y**2 / (2 * variance)) times one factor for all y.
    scale = Fraction(int(sqrt(variance)) + 1)
    spread = max(1, int(sqrt(variance) / 3))
    wholes = [
        abs(y) / scale + _refusal(y, scale, variance) - Fraction(y * y) / (2 * variance)
        for y in range(-10 * spread, 10 * spread, spread)
    ]
    assert set(wholes) == {wholes[0]}
    assert all(_refusal(y, scale, variance) >= 0 for y in range(-5, 6))


@pytest.mark.parametrize("variance", [Fraction(2**1000), Fraction(2**1100, 3), Fraction(1, 10**30)])
def test_variances_beyond_what_floats_hold_are_drawn_too(variance: Fraction) -> None:
    draws = sample_many_gaussian(variance, sized(3_000, 30_000), OperatingSystemRandom())
    if variance < 1:
        assert draws == [0] * len(draws)
        return
    unit = 2 ** ((variance.numerator // variance.denominator).bit_length() // 2 - 20)
    assert_fits([z // unit for z in draws], sqrt(variance / unit**2), gaussian)


@pytest.mark.parametrize(
    "variance", [Fraction(1, 50), Fraction(1), Fraction(22, 7), Fraction(10**6), Fraction(10**60, 7)]
)
def test_the_floats_that_sort_out_are_as_near_as_they_have_to_be(
    variance: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[np.ndarray] = []

    def caught(near: np.ndarray, exact: Callable[[int], Fraction], random: object) -> np.ndarray:
        seen.append(near)
        return near < 0

    monkeypatch.setattr("dp.noise.discrete_gaussian.flip_many", caught)
    scale = Fraction(int(sqrt(variance)) + 1)
    sigma = sqrt(variance)
    proposed = [int(sign * share * sigma) + off for share in range(14) for sign in (-1, 1) for off in (-1, 0, 1)]
    _kept(proposed, scale, variance, SeededRandom(1))
    for y, near in zip(proposed, seen[0].tolist(), strict=True):
        exact = _refusal(y, scale, variance)
        assert abs(Fraction(near) - exact) < Fraction(1, 2**42) if exact < 64 else near > 64 - 2**-34


def test_as_many_as_asked_for_are_drawn_and_the_same_bits_give_the_same() -> None:
    for n in (0, 1, 2, 5, 1000):
        first, second = (sample_many_gaussian(Fraction(22, 7), n, SeededRandom(n)) for _ in range(2))
        assert first == second
        assert len(first) == n
        assert all(type(z) is int for z in first)
    assert sample_discrete_gaussian(Fraction(9), SeededRandom(4)) == sample_discrete_gaussian(
        Fraction(9), SeededRandom(4)
    )


def test_one_draw_asks_for_the_bits_of_one_pot_whatever_it_is() -> None:
    asked = []
    for seed in range(40):
        random = RecordingRandom(SeededRandom(seed))
        sample_many_gaussian(Fraction(10**6), 1, random)
        asked.append(random.asked)
    assert asked == [asked[0]] * 40


def test_a_number_is_kept_when_its_coin_falls_heads() -> None:
    # t = 1, x = (2 - 0.5)**2 / 1: kept with probability exp(-9/4), which is 0.1054 and 452,685,567 of 2**32.
    word = int(exp(-2.25) * 2**32)
    for off, kept in ((-5, [2]), (5, [])):
        random = ScriptedRandom((word + off).to_bytes(4, "little"))
        assert _kept([2], Fraction(1), Fraction(1, 2), random) == kept


@pytest.mark.parametrize("variance", [Fraction(0), Fraction(-1)])
def test_a_variance_that_is_not_above_zero_is_refused(variance: Fraction) -> None:
    with pytest.raises(ValueError, match="above 0"):
        sample_discrete_gaussian(variance, OperatingSystemRandom())
    with pytest.raises(ValueError, match="above 0"):
        sample_many_gaussian(variance, 1, OperatingSystemRandom())
