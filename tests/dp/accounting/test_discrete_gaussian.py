"""The discrete Gaussian's delta; the oracles are a plain sum of floats and dp-accounting."""

from fractions import Fraction
from math import exp, isclose

import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st

from dp.accounting.concentrated import epsilon_of
from dp.accounting.discrete_gaussian import gaussian_delta, gaussian_epsilon, gaussian_rho
from dp.errors import ParameterError
from tests.sizes import sized

SIGMAS = st.fractions(min_value=Fraction(1, 10), max_value=100, max_denominator=50)
NANOS = st.integers(0, 5 * 10**9)


def _plain_sum(sensitivity: int, sigma_squared: Fraction, nano_epsilon: int) -> float:
    """Hockey-stick divergence of Z and Z + sensitivity, integer by integer."""
    reach = int(40 * float(sigma_squared) ** 0.5) + 2 * sensitivity + 2
    weights = {y: exp(-y * y / 2 / sigma_squared) for y in range(-reach, reach + 1)}
    growth = exp(nano_epsilon / 10**9)
    over = (max(0.0, weight - growth * weights.get(y + sensitivity, 0.0)) for y, weight in weights.items())
    return sum(over) / sum(weights.values())


@settings(deadline=None, max_examples=sized(80, 1000))
@given(st.integers(1, 8), SIGMAS, NANOS)
def test_the_delta_is_that_of_the_two_distributions(sensitivity: int, sigma_squared: Fraction, nano: int) -> None:
    told = float(gaussian_delta(sensitivity, sigma_squared, nano))
    assert isclose(told, _plain_sum(sensitivity, sigma_squared, nano), rel_tol=1e-9, abs_tol=1e-14)


@settings(deadline=None, max_examples=sized(40, 500))
@given(st.integers(1, 5), SIGMAS, NANOS, NANOS)
def test_delta_falls_with_epsilon_and_grows_with_the_sensitivity(
    sensitivity: int, sigma_squared: Fraction, nano: int, more: int
) -> None:
    delta = gaussian_delta(sensitivity, sigma_squared, nano)
    assert 0 <= gaussian_delta(sensitivity, sigma_squared, nano + more) <= delta <= 1
    assert gaussian_delta(sensitivity + 1, sigma_squared, nano) >= delta


@pytest.mark.parametrize(("sigma", "sensitivity"), [(10, 1), (3, 2), (1, 1), (100, 7)])
def test_dp_accounting_gives_the_same(sigma: int, sensitivity: int) -> None:
    oracle = privacy_loss_distribution.from_discrete_gaussian_mechanism(
        float(sigma), sensitivity=sensitivity, value_discretization_interval=1e-5
    )
    told = gaussian_epsilon(sensitivity, Fraction(sigma**2), 10**12)
    assert isclose(told / 10**9, oracle.get_epsilon_for_delta(1e-6), rel_tol=1e-4)
    assert gaussian_delta(sensitivity, Fraction(sigma**2), told) <= Fraction(1, 10**6)
    assert gaussian_delta(sensitivity, Fraction(sigma**2), told - 1) > Fraction(1, 10**6)


def test_the_exact_sum_beats_what_rho_alone_tells_and_wider_noise_is_told_by_rho() -> None:
    assert gaussian_epsilon(1, Fraction(100), 10**12) == 396_790_093 < epsilon_of(5_000_000, 10**12)
    wide = Fraction(4 * 10**6)
    assert gaussian_epsilon(1, wide, 10**12) == epsilon_of(gaussian_rho(1, wide), 10**12)


@given(st.integers(1, 10**6), st.fractions(min_value=Fraction(1, 10**6), max_value=10**12))
def test_rho_rounds_up(squared: int, sigma_squared: Fraction) -> None:
    exact = Fraction(squared) / (2 * sigma_squared) * 10**9
    assert exact <= gaussian_rho(squared, sigma_squared) < exact + 1


@pytest.mark.parametrize("sensitivity", [0, -1, 1.0, None])
def test_a_sensitivity_is_at_least_one(sensitivity: int) -> None:
    with pytest.raises(ParameterError, match=r"^sensitivity: "):
        gaussian_epsilon(sensitivity, Fraction(1), 1)


@pytest.mark.parametrize("sigma_squared", [Fraction(0), Fraction(-1), 1.0, Fraction(10**6 + 1)])
def test_a_variance_that_cannot_be_summed_is_refused(sigma_squared: Fraction) -> None:
    with pytest.raises(ParameterError, match=r"^sigma_squared: "):
        gaussian_delta(1, sigma_squared, 1)


@pytest.mark.parametrize(
    ("sigma_squared", "delta"), [(Fraction(1), 0), (Fraction(1), 10**18), (Fraction(1, 10**10), 1)]
)
def test_a_delta_or_a_noise_that_protects_nobody_is_refused(sigma_squared: Fraction, delta: int) -> None:
    with pytest.raises(ParameterError):
        gaussian_epsilon(1, sigma_squared, delta)
