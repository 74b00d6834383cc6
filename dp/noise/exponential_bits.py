"""Exponential bits: the exact binary digits of the probabilities that a geometric number's digits are made of.

For a geometric G with P(G >= j) = exp(-j / b), the binary digits of G are independent; digit i is 1 with probability
1 / (1 + exp(2**i / b)), and G is 2**i or more with probability exp(-2**i / b).
"""

from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

_GUARD_DIGITS = 12


def digit_threshold(scale: Fraction, digit: int, bits: int) -> int:
    """floor(2**bits / (1 + exp(2**digit / scale))), exactly."""
    return _floor(Fraction(2**digit) / scale, bits, of_digit=True)


def tail_threshold(scale: Fraction, digit: int, bits: int) -> int:
    """floor(2**bits * exp(-2**digit / scale)), exactly."""
    return _floor(Fraction(2**digit) / scale, bits, of_digit=False)


def exp_bounds(exponent: Fraction, precision: int) -> tuple[Decimal, Decimal]:
    """Two decimals of `precision` digits, close together, with exp(-exponent) between them; exponent > 0."""
    down, up = rounding_down(precision), rounding_up(precision)
    numerator, denominator = Decimal(exponent.numerator), Decimal(exponent.denominator)
    # copy_negate, since a minus sign would round to the digits of the thread's own context.
    # Decimal.exp is correctly rounded (to the nearest, whatever the context says): one step further out is certain.
    low = down.next_minus(down.exp(up.divide(numerator, denominator).copy_negate()))
    high = up.next_plus(up.exp(down.divide(numerator, denominator).copy_negate()))
    return max(low, Decimal(0)), high


def rounding_down(precision: int) -> Context:
    """Decimal arithmetic of so many digits, rounded towards minus infinity."""
    return Context(prec=precision, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)


def rounding_up(precision: int) -> Context:
    """Decimal arithmetic of so many digits, rounded towards infinity."""
    return Context(prec=precision, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)


def _floor(exponent: Fraction, bits: int, *, of_digit: bool) -> int:
    # exp(-x) of a rational x > 0 is irrational, so that a fine enough enclosure holds no integer and this ends.
    precision = bits * 31 // 100 + _GUARD_DIGITS
    while True:
        low, high = exp_bounds(exponent, precision)
        down, up = rounding_down(precision), rounding_up(precision)
        if of_digit:  # 1 / (1 + 1/e) = e / (1 + e), which grows with e
            low, high = down.divide(low, up.add(1, low)), up.divide(high, down.add(1, high))
        low, high = down.multiply(low, Decimal(2**bits)), up.multiply(high, Decimal(2**bits))
        if int(low) == int(high):
            return int(low)
        precision *= 2
