"""The discrete Gaussian's (epsilon, delta), by its exact sum.

One integer with noise of Pr[Z = z] proportional to exp(-z**2 / (2 sigma**2)), which one unit moves by at most D, is
(epsilon, delta)-private just when

    delta >= Pr[Z > epsilon sigma**2 / D - D / 2] - exp(epsilon) Pr[Z > epsilon sigma**2 / D + D / 2]

Source: Canonne, Kamath, Steinke 2020, arXiv:2004.00010, theorem 7. It is about one number: of several at once only
rho = (their joint L2 sensitivity)**2 / (2 sigma**2) is known, which concentrated.py converts.
"""

from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor
from typing import Final

from dp.accounting.concentrated import MAX_NANO_RHO, epsilon_of
from dp.errors import ParameterError
from dp.nano import NANO
from dp.noise.exponential_bits import exp_bounds, rounding_down, rounding_up
from dp.price import ATTO
from dp.search import smallest

# Ours: 20,000 terms and more; a wider noise is converted from its rho.
MAX_SIGMA_SQUARED: Final = 10**6
_PRECISION: Final = 50


def gaussian_rho(sensitivity_squared: int, sigma_squared: Fraction) -> int:
    """The nano-rho of discrete Gaussian noise on integers: sensitivity**2 / (2 sigma**2), rounded up.

    sensitivity_squared: the square of how far one unit moves them together (L2).
    Source: Canonne, Kamath, Steinke 2020, theorem 4.
    """
    return ceil(Fraction(sensitivity_squared * NANO) / (2 * sigma_squared))


def gaussian_epsilon(sensitivity: int, sigma_squared: Fraction, atto_delta: int) -> int:
    """The smallest nano-epsilon that one integer with this noise is known to have at delta: never too small.

    Raises: ParameterError unless the sensitivity is at least 1, sigma**2 above 0 and 0 < delta < 1.
    """
    if type(atto_delta) is not int or not 0 < atto_delta < ATTO:
        raise ParameterError("atto_delta", "it must be an int from 1 to 10**18 - 1")
    require_noise(sensitivity, sigma_squared)
    rho = gaussian_rho(sensitivity**2, sigma_squared)
    if rho > MAX_NANO_RHO:
        raise ParameterError("sigma_squared", "so little noise protects nobody; take more")
    from_rho = epsilon_of(rho, atto_delta)
    if sigma_squared > MAX_SIGMA_SQUARED:
        return from_rho
    allowed = Fraction(atto_delta, ATTO)
    return smallest(lambda nano: gaussian_delta(sensitivity, sigma_squared, nano) <= allowed, 0, from_rho)


def gaussian_delta(sensitivity: int, sigma_squared: Fraction, nano_epsilon: int) -> Fraction:
    """No less than the delta of one integer with this noise at epsilon, and about 30 digits near to it.

    Raises: ParameterError unless the sensitivity is at least 1 and 0 < sigma**2 <= 10**6.
    """
    require_noise(sensitivity, sigma_squared)
    if sigma_squared > MAX_SIGMA_SQUARED:
        raise ParameterError("sigma_squared", "the exact sum is for at most 10**6; convert the rho of a wider noise")
    at = Fraction(nano_epsilon, NANO) * sigma_squared / sensitivity
    near, far = (floor(at + Fraction(sign * sensitivity, 2)) + 1 for sign in (-1, 1))  # the first integer beyond
    up, down = rounding_up(_PRECISION), rounding_down(_PRECISION)
    growth = Decimal(1)
    if nano_epsilon > 0:
        growth = down.divide(Decimal(1), exp_bounds(Fraction(nano_epsilon, NANO), _PRECISION)[1])
    less = down.multiply(growth, _tail(sigma_squared, far)[0])
    return max(Fraction(0), Fraction(up.subtract(_tail(sigma_squared, near)[1], less)))


def require_noise(sensitivity: int, sigma_squared: Fraction) -> None:
    """Raises: ParameterError."""
    if type(sensitivity) is not int or sensitivity < 1:
        raise ParameterError("sensitivity", "it must be an int of at least 1")
    if not isinstance(sigma_squared, Fraction) or sigma_squared <= 0:
        raise ParameterError("sigma_squared", "it must be a Fraction above 0")


def _tail(sigma_squared: Fraction, first: int) -> tuple[Decimal, Decimal]:
    """Two decimals with Pr[Z >= first] between them."""
    up, down = rounding_up(_PRECISION), rounding_down(_PRECISION)
    if first <= 0:  # by symmetry, all but the tail on the other side
        other_least, other_most = _tail(sigma_squared, 1 - first)
        return max(Decimal(0), down.subtract(Decimal(1), other_most)), up.subtract(Decimal(1), other_least)
    least, most = _sums(sigma_squared)
    all_least = down.subtract(down.multiply(Decimal(2), least[0]), Decimal(1))  # 0 counts once
    all_most = up.subtract(up.multiply(Decimal(2), most[0]), Decimal(1))
    beyond_least = least[first] if first < len(least) else Decimal(0)
    beyond_most = most[min(first, len(most) - 1)]
    return down.divide(beyond_least, all_most), up.divide(beyond_most, all_least)


@lru_cache(maxsize=8)
def _sums(sigma_squared: Fraction) -> tuple[tuple[Decimal, ...], tuple[Decimal, ...]]:
    """From below and from above, for z = 0, 1, ...: the sum of exp(-y**2 / (2 sigma**2)) over all y >= z."""
    half = 1 / (2 * sigma_squared)
    first, twice = exp_bounds(half, _PRECISION), exp_bounds(2 * half, _PRECISION)
    terms = [
        _terms(ratio, shrink, context)
        for ratio, shrink, context in zip(
            first, twice, (rounding_down(_PRECISION), rounding_up(_PRECISION)), strict=True
        )
    ]
    up, down = rounding_up(_PRECISION), rounding_down(_PRECISION)
    # Beyond the last term they shrink faster than geometrically, by the first ratio at least.
    rest = up.divide(terms[1][-1], down.subtract(Decimal(1), first[1]))
    return _added(terms[0], Decimal(0), down), _added(terms[1], rest, up)


def _terms(ratio: Decimal, shrink: Decimal, context: Context) -> list[Decimal]:
    """exp(-y**2 / (2 sigma**2)) for y = 0, 1, ... until it is too small to matter.

    ratio: of the first two. shrink: of one ratio to the one before.
    """
    terms = [Decimal(1)]
    while terms[-1].adjusted() > -_PRECISION:
        terms.append(context.multiply(terms[-1], ratio))
        ratio = context.multiply(ratio, shrink)
    return terms


def _added(terms: list[Decimal], rest: Decimal, context: Context) -> tuple[Decimal, ...]:
    sums = [rest]
    for term in reversed(terms):
        sums.append(context.add(sums[-1], term))
    return tuple(reversed(sums[1:]))
