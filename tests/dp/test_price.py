"""Prices are integers, and round up."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp.epsilon import laplace_rho
from dp.errors import ParameterError
from dp.price import Price, require_pure


@settings(deadline=None)
@given(st.integers(1, 10**18))
def test_rho_is_never_below_half_the_square_of_epsilon_and_never_a_billionth_above(nano: int) -> None:
    rho = Fraction(Price.pure(nano).nano_rho, 10**9)
    exact = Fraction(nano, 10**9) ** 2 / 2
    assert exact <= rho < exact + Fraction(1, 10**9)


@pytest.mark.parametrize(
    ("epsilon", "rho", "delta"),
    [
        (0, 1, 0),
        (-1, 1, 0),
        (1, 0, 0),
        (None, 10**400, 0),
        (1, 1, -1),
        (1, 1, 10**18),
        (1.0, 1, 0),
        (True, 1, 0),
        (1, 1.0, 0),
        (1, 1, 0.0),
    ],
)
def test_a_price_that_is_none_is_refused(epsilon: int, rho: int, delta: int) -> None:
    with pytest.raises(ParameterError):
        Price(epsilon, rho, delta)


def test_a_gaussian_price_has_no_epsilon_and_an_approximate_one_has_a_delta() -> None:
    assert Price.gaussian(5) == Price(None, 5, 0)
    assert Price.approximate(10**9, 7) == Price(10**9, 5 * 10**8, 7)


@settings(deadline=None)
@given(st.integers(1, 10**12), st.integers(1, 10**12), st.integers(0, 3))
def test_only_a_price_that_its_epsilon_says_wholly_is_pure(nano: int, rho: int, delta: int) -> None:
    assert require_pure(Price.pure(nano)) == nano
    assert Price(nano, rho, delta).is_pure == (rho == laplace_rho(nano) and delta == 0)
    for other in (Price.gaussian(rho), Price.approximate(nano, delta + 1), Price(nano, laplace_rho(nano) + 1)):
        with pytest.raises(ParameterError, match=r"^price: .*Price\.pure"):
            require_pure(other)
