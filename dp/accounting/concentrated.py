"""Concentrated privacy: rho adds up over answers, and converts to an epsilon at a delta.

Bun, Steinke 2016, arXiv:1605.02065: answers that are rho-zCDP add up by their rho. Canonne, Kamath, Steinke 2020,
arXiv:2004.00010, proposition 12 and corollary 13: rho-zCDP is (epsilon, delta)-private for every alpha > 1 with

    delta = exp((alpha - 1) (alpha rho - epsilon)) / (alpha - 1) * (1 - 1/alpha)**alpha

Whatever alpha is tried, that is a bound: alpha is chosen roughly, and the bound is then rounded up.
"""

from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final

from dp.accounting.logarithm import divided, ln_bounds
from dp.epsilon import MAX_NANO_EPSILON
from dp.errors import ParameterError
from dp.nano import NANO
from dp.noise.exponential_bits import rounding_down, rounding_up
from dp.price import ATTO
from dp.search import largest, smallest

# Ours: rho as large as the largest epsilon is no privacy at all.
MAX_NANO_RHO: Final = MAX_NANO_EPSILON
_PRECISION: Final = 50
_ROUGH: Final = Context(prec=20, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX)
# Where the best alpha is nearer to 1 the delta is near 1 too, and this one is good enough.
_LEAST_STEP: Final = Decimal("1e-9")
_HALVINGS: Final = 32


def converts(nano_rho: int, nano_epsilon: int, atto_delta: int) -> bool:
    """Whether rho-zCDP is (epsilon, delta)-private for certain: True is proven, False may be a matter of rounding.

    nano_rho, nano_epsilon in units of 1e-9, atto_delta in units of 1e-18. No rho > 0 converts at a delta of 0.
    """
    if nano_rho == 0:
        return True
    if atto_delta == 0:
        return False
    rho, epsilon = Fraction(nano_rho, NANO), Fraction(nano_epsilon, NANO)
    allowed, _ = ln_bounds(Fraction(atto_delta, ATTO), _PRECISION)
    return _log_delta(rho, epsilon, _best_step(rho, epsilon)) <= allowed


@lru_cache(maxsize=256)
def epsilon_of(nano_rho: int, atto_delta: int) -> int:
    """The smallest nano-epsilon that rho-zCDP is known to give at delta: never too small.

    Raises: ParameterError unless 0 <= rho <= 1e9 and 0 < delta < 1.
    """
    if type(nano_rho) is not int or not 0 <= nano_rho <= MAX_NANO_RHO:
        raise ParameterError("nano_rho", "it must be an int from 0 to 10**18")
    _require_delta(atto_delta, least=1)
    high = NANO
    while not converts(nano_rho, high, atto_delta):
        high *= 2
    return smallest(lambda nano: converts(nano_rho, nano, atto_delta), 0, high)


@lru_cache(maxsize=256)
def largest_rho(nano_epsilon: int, atto_delta: int) -> int:
    """The largest nano-rho that is known to convert to epsilon at delta: never too large. 0 when delta is 0.

    Raises: ParameterError unless 0 < epsilon <= 1e9 and 0 <= delta < 1.
    """
    if type(nano_epsilon) is not int or not 0 < nano_epsilon <= MAX_NANO_EPSILON:
        raise ParameterError("nano_epsilon", "it must be an int from 1 to 10**18")
    _require_delta(atto_delta, least=0)
    high = 1
    while high < MAX_NANO_RHO and converts(high, nano_epsilon, atto_delta):
        high = min(2 * high, MAX_NANO_RHO)
    return largest(lambda nano: converts(nano, nano_epsilon, atto_delta), 0, high)


def _best_step(rho: Fraction, epsilon: Fraction) -> Decimal:
    """About alpha - 1 of the alpha whose delta is least: the derivative (2 alpha - 1) rho - epsilon + ln(1 - 1/alpha)
    of the delta's logarithm grows with alpha, and is 0 there."""
    r, e = divided(rho, _ROUGH), divided(epsilon, _ROUGH)
    low = _LEAST_STEP
    high = _ROUGH.add(_ROUGH.divide(_ROUGH.add(e, Decimal(1)), _ROUGH.multiply(r, Decimal(2))), Decimal(2))
    for _ in range(_HALVINGS):
        step = _ROUGH.sqrt(_ROUGH.multiply(low, high))
        ratio = _ROUGH.ln(_ROUGH.divide(step, _ROUGH.add(step, Decimal(1))))
        slope = _ROUGH.add(_ROUGH.subtract(_ROUGH.fma(_ROUGH.add(step, step), r, r), e), ratio)
        low, high = (step, high) if slope < 0 else (low, step)
    return low


def _log_delta(rho: Fraction, epsilon: Fraction, step: Decimal) -> Decimal:
    """No less than the logarithm of the delta at alpha = 1 + step."""
    up = rounding_up(_PRECISION)
    exact = Fraction(step)
    exponent = divided(exact * ((1 + exact) * rho - epsilon), up)
    least, _ = ln_bounds(exact, _PRECISION)
    _, most = ln_bounds(exact / (1 + exact), _PRECISION)
    # A negative logarithm times no more than alpha is no less than the product.
    return up.add(up.subtract(exponent, least), up.multiply(most, divided(1 + exact, rounding_down(_PRECISION))))


def _require_delta(atto_delta: int, *, least: int) -> None:
    if type(atto_delta) is not int or not least <= atto_delta < ATTO:
        raise ParameterError("atto_delta", f"it must be an int from {least} to 10**18 - 1")
