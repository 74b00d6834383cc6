"""Prices are integers, and round up."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp.errors import ParameterError
from dp.ledger.price import Price


@settings(deadline=None)
@given(st.integers(1, 10**18))
def test_rho_is_never_below_half_the_square_of_epsilon_and_never_a_billionth_above(nano: int) -> None:
    rho = Fraction(Price.pure(nano).nano_rho, 10**9)
    exact = Fraction(nano, 10**9) ** 2 / 2
    assert exact <= rho < exact + Fraction(1, 10**9)


@pytest.mark.parametrize(
    ("epsilon", "rho", "delta"),
    [(0, 1, 0), (-1, 1, 0), (1, 0, 0), (1, 1, -1), (1, 1, 10**18), (1.0, 1, 0), (True, 1, 0), (1, 1.0, 0), (1, 1, 0.0)],
)
def test_a_price_that_is_none_is_refused(epsilon: int, rho: int, delta: int) -> None:
    with pytest.raises(ParameterError):
        Price(epsilon, rho, delta)
