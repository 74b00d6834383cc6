import decimal
import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dp.accounting.logarithm import ln_bounds
from dp.noise.exponential_bits import exp_bounds

numbers = st.fractions(min_value=Fraction(1, 10**9), max_value=10**9)


@given(numbers, st.integers(5, 60))
def test_the_logarithm_lies_between_and_near(number: Fraction, precision: int) -> None:
    low, high = ln_bounds(number, precision)
    finer = ln_bounds(number, precision + 20)
    assert low <= finer[0] <= finer[1] <= high
    near = max(1e-13, 10.0 ** (2 - precision))
    assert math.isclose(float(low), math.log(number), rel_tol=near, abs_tol=near)
    assert math.isclose(float(high), math.log(number), rel_tol=near, abs_tol=near)


@given(st.fractions(min_value=Fraction(1, 1000), max_value=1000))
def test_it_undoes_the_exponential(exponent: Fraction) -> None:
    least, most = exp_bounds(exponent, 40)
    assert ln_bounds(Fraction(least), 40)[0] <= -exponent <= ln_bounds(Fraction(most), 40)[1]


def test_the_contexts_of_the_thread_play_no_part() -> None:
    with decimal.localcontext(decimal.Context(prec=2, traps=[decimal.Inexact])):
        assert ln_bounds(Fraction(2), 30)[0] > Fraction(693147, 10**6)
