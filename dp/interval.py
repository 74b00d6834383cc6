"""Intervals: how far the noise may have moved a number, from its exact distribution and nothing else."""

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Final

from dp.noise.exponential_bits import exp_bounds, rounding_up

# One answer in twenty may lie outside: 95 %.
MISS: Final = Fraction(1, 20)
_SPARE_DIGITS: Final = 30


@lru_cache(maxsize=1024)
def half_width(scale: Fraction, miss: Fraction = MISS) -> int:
    """The smallest t >= 0 with P(|noise| > t) <= miss, or one more where 30 digits cannot tell.

    scale: of the discrete Laplace. The tail is P(|Z| > t) = 2 a**(t+1) / (1 + a) with a = exp(-1/scale), so t is
    scale * ln(2 / (miss * (1 + a))) - 1, rounded up; each step is rounded outward.
    """
    precision = len(str(scale.numerator)) + len(str(miss.denominator)) + _SPARE_DIGITS
    up = rounding_up(precision)
    least_a, _ = exp_bounds(1 / scale, precision)
    # What is too small to matter counts as 0, since as a fraction it could have a billion digits.
    ratio = 2 / (miss * (1 + (Fraction(least_a) if least_a.adjusted() > -precision else 0)))
    if ratio <= 1:
        return 0
    argument = up.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    logarithm = up.next_plus(up.ln(argument))  # ln is correctly rounded to the nearest: one step further is certain
    return max(0, ceil(Fraction(logarithm) * scale) - 1)


def around(noisy: int, scale: Fraction, miss: Fraction = MISS) -> tuple[int, int]:
    """The integers between which the number without noise lies, but for one answer in 1/miss."""
    reach = half_width(scale, miss)
    return noisy - reach, noisy + reach


def ratio_interval(
    above: tuple[int, int], below: tuple[int, int], bounds: tuple[int, int]
) -> tuple[Fraction, Fraction]:
    """Where above / below can lie when both lie in their intervals and below is a count of at least 1.

    bounds: the ratio is known to lie between these. When the count cannot be 1 or more, that is all that is known.
    """
    low, high = Fraction(bounds[0]), Fraction(bounds[1])
    if below[1] < 1:
        return low, high
    fewest, most = max(1, below[0]), below[1]
    least = Fraction(above[0], fewest if above[0] < 0 else most)
    greatest = Fraction(above[1], fewest if above[1] > 0 else most)
    return min(max(least, low), high), max(min(greatest, high), low)
