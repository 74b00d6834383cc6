from decimal import MIN_EMIN, Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp.noise.exponential_bits import digit_threshold, exp_bounds, tail_threshold
from tests.sizes import sized

SCALES = st.builds(Fraction, st.integers(1, 10**12), st.integers(1, 10**12))


def test_the_first_digits_are_those_of_the_formula() -> None:
    with localcontext(prec=60):
        for digit in range(8):
            e = (Decimal(2**digit) / 3).exp()
            assert digit_threshold(Fraction(3), digit, 64) == int(2**64 / (1 + e))
            assert tail_threshold(Fraction(3), digit, 64) == int(2**64 / e)


@given(scale=SCALES, digit=st.integers(0, 70), bits=st.sampled_from([32, 96]))
@settings(deadline=None, max_examples=sized(15, 60))
def test_more_bits_begin_with_fewer_bits(scale: Fraction, digit: int, bits: int) -> None:
    for threshold in (digit_threshold, tail_threshold):
        assert threshold(scale, digit, bits + 64) >> 64 == threshold(scale, digit, bits)


@given(scale=SCALES)
@settings(deadline=None, max_examples=sized(15, 60))
def test_a_digit_is_one_less_often_than_not(scale: Fraction) -> None:
    assert 0 <= digit_threshold(scale, 0, 32) < 2**31
    assert 0 <= tail_threshold(scale, 0, 32) < 2**32


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(22, 7)])
def test_digits_together_have_exactly_the_geometric_probabilities(scale: Fraction) -> None:
    # P(G = g) = (1 - q) q**g with q = exp(-1/scale); digits up to 2**digits are drawn, given that G is below that.
    digits, bits = 6, 200
    q = Fraction(tail_threshold(scale, 0, bits), 2**bits)
    below = 1 - Fraction(tail_threshold(scale, digits, bits), 2**bits)
    ones = [Fraction(digit_threshold(scale, digit, bits), 2**bits) for digit in range(digits)]
    for g in range(2**digits):
        together = Fraction(1)
        for digit, p in enumerate(ones):
            together *= p if g >> digit & 1 else 1 - p
        assert abs(together - (1 - q) * q**g / below) < Fraction(1, 2**180)


@given(exponent=st.builds(Fraction, st.integers(1, 10**9), st.integers(1, 10**9)))
@settings(deadline=None, max_examples=sized(15, 60))
def test_the_enclosure_holds_the_exponential_and_is_tight(exponent: Fraction) -> None:
    low, high = exp_bounds(exponent, 30)
    with localcontext(prec=80, Emin=MIN_EMIN):
        true = (-Decimal(exponent.numerator) / exponent.denominator).exp()
    assert low < true < high
    assert high - low <= true * Decimal("1e-18")


def test_what_is_too_small_for_a_decimal_is_enclosed_from_zero() -> None:
    low, high = exp_bounds(Fraction(10**30), 20)
    assert 0 <= low < high < Decimal("1e-1000")
