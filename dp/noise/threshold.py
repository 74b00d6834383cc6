"""The threshold: how many units a key that nobody declared must seem to have before it is shown at all.

Each key that occurs gets its count of units with discrete Laplace noise of scale b = k / epsilon, k being the most keys
that one unit counts in, and is shown with it when that is T or more. Keys that do not occur are not looked at.

Private, in short: let a unit be added, j <= k of its keys being its own alone. Its other keys' counts move by 1 each,
which the noise hides at (k - j) * epsilon / k. A key of its own has count 1 with it and is not there without it: it is
shown with probability q = P(1 + Z >= T) = a**(T - 1) / (1 + a), a = exp(-1 / b). But for the event that one of them is
shown, both sides differ by exp(epsilon) at most; that event has probability 1 - (1 - q)**j, at most
delta = 1 - (1 - q)**k. From the side without the unit, P = (1 - q)**j * P + (1 - (1 - q)**j) * P gives the same delta.

Source: Korolova et al. 2009 (Releasing search queries and clicks privately), with the exact tail of the discrete noise.
"""

from decimal import Context, Decimal
from fractions import Fraction
from typing import Final

from dp.epsilon import require_nano_epsilon
from dp.errors import ParameterError
from dp.nano import NANO
from dp.noise.exponential_bits import exp_bounds, rounding_down, rounding_up
from dp.price import ATTO

# With T = 1 a key of one unit is shown more often than not.
LEAST_THRESHOLD: Final = 2
# A delta below this counts as this: a hundred billionth of the least that can be charged.
_LEAST_DELTA: Final = Decimal("1e-29")
# So many more than the digits of groups: 1 - (1 - q)**k takes away 30 of them.
_DIGITS: Final = 75


def threshold_delta(threshold: int, nano_epsilon: int, groups: int) -> Fraction:
    """The delta of showing keys from this threshold on: at least 1 - (1 - a**(T-1) / (1+a))**k, a = exp(-epsilon / k).

    groups: k, the most keys that one unit counts in. The result is rounded up, by less than one part in 10**30, or to
    1e-29 where it is below that.

    Raises: ParameterError for a threshold below 2, k below 1, or a nano_epsilon out of range.
    """
    if type(threshold) is not int or threshold < LEAST_THRESHOLD:
        raise ParameterError("threshold", "it is an int of at least 2: one unit alone must not be shown")
    if type(groups) is not int or groups < 1:
        raise ParameterError("groups", "it is an int of at least 1, the most keys that one unit counts in")
    step = Fraction(require_nano_epsilon(nano_epsilon), NANO * groups)
    precision = _DIGITS + len(str(groups))
    down, up = rounding_down(precision), rounding_up(precision)
    least_a, _ = exp_bounds(step, precision)
    _, most_tail = exp_bounds((threshold - 1) * step, precision)
    shown = up.divide(max(most_tail, up.divide(_LEAST_DELTA, groups)), down.add(1, least_a))
    none_shown = _power(down.subtract(1, shown), groups, down)
    return Fraction(up.subtract(1, none_shown))


def smallest_threshold(nano_epsilon: int, groups: int, atto_delta: int) -> int:
    """The smallest threshold of at least 2 whose threshold_delta() is atto_delta * 1e-18 at most.

    Raises: ParameterError for a delta that is not above 0 and below 1; as threshold_delta().
    """
    if type(atto_delta) is not int or not 0 < atto_delta < ATTO:
        raise ParameterError("atto_delta", "it is an int from 1 to 10**18 - 1: no threshold protects surely")
    allowed = Fraction(atto_delta, ATTO)
    if threshold_delta(LEAST_THRESHOLD, nano_epsilon, groups) <= allowed:
        return LEAST_THRESHOLD
    low, high = LEAST_THRESHOLD, 2 * LEAST_THRESHOLD
    while threshold_delta(high, nano_epsilon, groups) > allowed:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if threshold_delta(middle, nano_epsilon, groups) <= allowed:
            high = middle
        else:
            low = middle
    return high


def _power(base: Decimal, exponent: int, context: Context) -> Decimal:
    """base**exponent by squaring, each product rounded as the context says; base is from 0 to 1."""
    power = Decimal(1)
    while exponent:
        if exponent & 1:
            power = context.multiply(power, base)
        base = context.multiply(base, base)
        exponent >>= 1
    return power
