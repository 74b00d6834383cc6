"""Intervals: how far the noise may have moved a number, from its exact distribution and nothing else."""

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, fsum, isqrt, log
from statistics import NormalDist
from typing import Final

from dp.noise.exponential_bits import exp_bounds, rounding_up

# One answer in twenty may lie outside: 95 %.
MISS: Final = Fraction(1, 20)
_SPARE_DIGITS: Final = 30
_ADDED_UP: Final = 100**2  # ours


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


@lru_cache(maxsize=1024)
def gaussian_half_width(variance: Fraction, miss: Fraction = MISS) -> int:
    """A t >= 0 with P(|noise| > t) <= miss, the smallest one for small variances, in floats.

    variance: sigma squared of the discrete Gaussian, whose probabilities are in proportion to exp(-z**2 / (2 *
    variance)). They are added up where sigma is at most 100. Beyond, t is sigma times the normal quantile, rounded up,
    since P(Z > t) is at most P(N >= t) of the normal N: the sum of them over z > t is at most their integral from t on,
    and the sum over all z at least their integral.

    Source: Canonne, Kamath, Steinke 2020, arXiv:2004.00010, section 3.
    """
    if variance > _ADDED_UP:
        quantile = Fraction(NormalDist().inv_cdf(1 - float(miss) / 2)) + Fraction(1, 10**9)
        return isqrt(ceil(quantile**2 * variance)) + 1
    inside, z = 1.0, 0
    weights = [exp(-(z * z) / (2 * float(variance))) for z in range(1, 40 * ceil(variance**0.5) + 2)]
    allowed = float(1 - miss) * (1 + 2 * fsum(weights))
    while inside < allowed:
        inside += 2 * weights[z]
        z += 1
    return z


def choice_half_width(scale: Fraction, candidates: int, miss: Fraction = MISS) -> int:
    """A t >= 0 such that a candidate more than t worse than the best is chosen with probability miss at most.

    scale: 1 / exponent of permute-and-flip. It chooses a candidate no more often than its coin falls heads, so with
    probability exp(-t / scale) at most, and there are candidates - 1 besides the best.
    """
    if candidates == 1:
        return 0
    logarithm = Fraction(log((candidates - 1) / miss)) + Fraction(1, 10**9)  # more than a float is off
    return max(0, ceil(logarithm * scale))


def ratio_interval(
    above: tuple[int, int], below: tuple[int, int], bounds: tuple[int, int]
) -> tuple[Fraction, Fraction]:
    """Where above / below can lie when both lie in their intervals and below is a count of at least 1.

    bounds: the ratio is known to lie between these. When the count cannot be 1 or more, that is all that is known.
    """
    least, greatest = ratio_ends(above, below, bounds)
    return Fraction(*least), Fraction(*greatest)


def ratio_ends(
    above: tuple[int, int], below: tuple[int, int], bounds: tuple[int, int]
) -> tuple[tuple[int, int], tuple[int, int]]:
    """The ends of ratio_interval(), each as a numerator and a denominator above 0, not in lowest terms."""
    if below[1] < 1:
        return (bounds[0], 1), (bounds[1], 1)
    fewest, most = max(1, below[0]), below[1]
    least = fewest if above[0] < 0 else most
    greatest = fewest if above[1] > 0 else most
    return (ratio_within(above[0], least, bounds), least), (ratio_within(above[1], greatest, bounds), greatest)


def ratio_within(above: int, below: int, bounds: tuple[int, int]) -> int:
    """The numerator of above / below when that ratio is clipped to the bounds. below: above 0."""
    return min(max(above, bounds[0] * below), bounds[1] * below)
