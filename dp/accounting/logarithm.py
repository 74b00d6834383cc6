"""Logarithms of fractions, from below and from above."""

from decimal import Context, Decimal
from fractions import Fraction

from dp.noise.exponential_bits import rounding_down, rounding_up


def ln_bounds(number: Fraction, precision: int) -> tuple[Decimal, Decimal]:
    """Two decimals of `precision` digits, close together, with the natural logarithm of a number > 0 between them."""
    down, up = rounding_down(precision), rounding_up(precision)
    # Decimal.ln is correctly rounded (to the nearest, whatever the context says): one step further out is certain.
    return down.next_minus(down.ln(divided(number, down))), up.next_plus(up.ln(divided(number, up)))


def divided(number: Fraction, context: Context) -> Decimal:
    """A fraction as a decimal, rounded as the context says."""
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))
