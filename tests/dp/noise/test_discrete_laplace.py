from fractions import Fraction
from math import exp

import pytest

from dp.noise.discrete_laplace import bernoulli_exp, sample_discrete_laplace
from dp.noise.random_source import OperatingSystemRandom
from tests.dp.goodness_of_fit import assert_fits
from tests.dp.seeded import SeededRandom
from tests.sizes import sized


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(10, 3), Fraction(100), Fraction(2**80, 7)])
def test_draws_fit_the_claimed_scale_and_no_other(scale: Fraction) -> None:
    random = OperatingSystemRandom()
    assert_fits([sample_discrete_laplace(scale, random) for _ in range(sized(5_000, 300_000))], float(scale))


@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 1000), Fraction(1, 2), Fraction(1)])
def test_a_coin_of_exp_minus_gamma_falls_so_often(gamma: Fraction) -> None:
    n = sized(5_000, 500_000)
    random = OperatingSystemRandom()
    heads = sum(bernoulli_exp(gamma.numerator, gamma.denominator, random) for _ in range(n))
    p = exp(-gamma)
    assert abs(heads - n * p) <= 5 * (n * p * (1 - p)) ** 0.5


def test_the_same_bits_give_the_same_draws() -> None:
    first, second = SeededRandom(1), SeededRandom(1)
    scale = Fraction(22, 7)
    assert [sample_discrete_laplace(scale, first) for _ in range(50)] == [
        sample_discrete_laplace(scale, second) for _ in range(50)
    ]


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1)])
def test_a_scale_that_is_not_above_zero_is_refused(scale: Fraction) -> None:
    with pytest.raises(ValueError, match="above 0"):
        sample_discrete_laplace(scale, OperatingSystemRandom())
