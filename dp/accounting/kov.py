"""The bound of Kairouz, Oh and Viswanath on a batch of answers whose epsilons are fixed before any is given.

Randomised response with the same epsilons is the worst there is: its privacy loss is a sum of independent terms, each
+epsilon with probability 1 / (1 + exp(-epsilon)), else -epsilon, and the batch is (e, delta)-private with

    delta = sum over losses L > e of Pr[L] - exp(e) Pr[-L]

Where there are too many different epsilons to add that up, their theorem 3.5 and the sum of rho bound it.
Source: Kairouz, Oh, Viswanath 2015, arXiv:1311.0776, theorems 3.3 and 3.5.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from itertools import accumulate
from math import ceil, prod
from typing import Final, Self

from dp.accounting.concentrated import MAX_NANO_RHO, epsilon_of
from dp.accounting.logarithm import divided, ln_bounds
from dp.epsilon import laplace_rho, require_nano_epsilon
from dp.errors import ParameterError
from dp.nano import NANO
from dp.noise.exponential_bits import exp_bounds, rounding_down, rounding_up
from dp.price import ATTO
from dp.search import smallest

# Ours: a fifth of a second or so; above it the bounds in closed form take over.
MAX_LOSSES: Final = 50_000
_PRECISION: Final = 60

Weights = Mapping[int, Decimal]


def kov_epsilon(nano_epsilons: Sequence[int], atto_delta: int) -> int:
    """The nano-epsilon that the whole batch is known to have at delta: never too small, never above the plain sum.

    nano_epsilons: of each answer, at least one, fixed before the first answer is given. atto_delta: 0 gives the sum.
    Raises: ParameterError.
    """
    if not nano_epsilons:
        raise ParameterError("nano_epsilons", "a batch has at least one question")
    total = sum(map(require_nano_epsilon, nano_epsilons))
    if type(atto_delta) is not int or not 0 <= atto_delta < ATTO:
        raise ParameterError("atto_delta", "it must be an int from 0 to 10**18 - 1")
    if atto_delta == 0:
        return total
    different = Counter(nano_epsilons)
    if prod(count + 1 for count in different.values()) <= MAX_LOSSES:
        losses = PrivacyLosses.of(different)
        return smallest(lambda nano: losses.delta(nano) <= Fraction(atto_delta, ATTO), 0, total)
    bounds = [total, _theorem_3_5(different, atto_delta)]
    rho = sum(count * laplace_rho(nano) for nano, count in different.items())
    if rho <= MAX_NANO_RHO:
        bounds.append(epsilon_of(rho, atto_delta))
    return min(bounds)


@dataclass(frozen=True, slots=True)
class PrivacyLosses:
    """How likely each privacy loss of a batch is: the losses, ascending, and sums over each and all above it.

    above: no less than the probabilities, mirrored: no more than those of the negated losses.
    """

    losses: tuple[int, ...]
    above: tuple[Decimal, ...]
    mirrored: tuple[Decimal, ...]

    @classmethod
    def of(cls, different: Mapping[int, int]) -> Self:
        """different: how many answers have each nano-epsilon."""
        high: Weights = {0: Decimal(1)}
        low: Weights = {0: Decimal(1)}
        for nano, count in different.items():
            high = _together(high, _of_one_kind(nano, count, rounding_up(_PRECISION)), rounding_up(_PRECISION))
            low = _together(low, _of_one_kind(nano, count, rounding_down(_PRECISION)), rounding_down(_PRECISION))
        losses = sorted(high)
        above = accumulate((high[loss] for loss in reversed(losses)), rounding_up(_PRECISION).add)
        mirrored = accumulate((low[-loss] for loss in reversed(losses)), rounding_down(_PRECISION).add)
        return cls(tuple(losses), tuple(above)[::-1], tuple(mirrored)[::-1])

    def delta(self, nano_epsilon: int) -> Fraction:
        """No less than the delta at this epsilon, 0 or more."""
        at = bisect_right(self.losses, nano_epsilon)
        if at == len(self.losses):
            return Fraction(0)
        if nano_epsilon == 0:
            growth = Decimal(1)
        else:
            _, shrinking = exp_bounds(Fraction(nano_epsilon, NANO), _PRECISION)
            growth = rounding_down(_PRECISION).divide(Decimal(1), shrinking)
        less = rounding_down(_PRECISION).multiply(growth, self.mirrored[at])
        return max(Fraction(0), Fraction(rounding_up(_PRECISION).subtract(self.above[at], less)))


def _of_one_kind(nano: int, count: int, context: Context) -> Weights:
    """The losses of `count` answers of one epsilon: binomial, rounded as the context says throughout."""
    least, most = exp_bounds(Fraction(nano, NANO), _PRECISION)
    upward = context.rounding == rounding_up(1).rounding
    ratio, other = (most, least) if upward else (least, most)
    # The probability of +epsilon is 1 / (1 + exp(-epsilon)), and larger for a smaller exponential.
    opposite = rounding_down(_PRECISION) if upward else rounding_up(_PRECISION)
    positive = context.divide(Decimal(1), opposite.add(Decimal(1), other))
    weight = _power(positive, count, context)
    weights = {count * nano: weight}
    for negatives in range(1, count + 1):
        weight = context.multiply(context.multiply(weight, ratio), Decimal(count - negatives + 1))
        weight = context.divide(weight, Decimal(negatives))
        weights[(count - 2 * negatives) * nano] = weight
    return weights


def _power(base: Decimal, exponent: int, context: Context) -> Decimal:
    """By repeated squaring, each step rounded as the context says; Decimal's own power() is not certain to be."""
    result = Decimal(1)
    for digit in f"{exponent:b}":
        result = context.multiply(result, result)
        if digit == "1":
            result = context.multiply(result, base)
    return result


def _together(one: Weights, other: Weights, context: Context) -> Weights:
    """The weights of sums of two independent losses."""
    sums: dict[int, Decimal] = {}
    for loss, weight in one.items():
        for another, more in other.items():
            sums[loss + another] = context.fma(weight, more, sums.get(loss + another, Decimal(0)))
    return sums


def _theorem_3_5(different: Mapping[int, int], atto_delta: int) -> int:
    """sum of epsilon tanh(epsilon / 2), and the root of 2 ln(1/delta) times the sum of epsilon**2; rounded up."""
    up = rounding_up(_PRECISION)
    drift = Decimal(0)
    for nano, count in different.items():
        least, _ = exp_bounds(Fraction(nano, NANO), _PRECISION)
        tanh = up.divide(up.subtract(Decimal(1), least), rounding_down(_PRECISION).add(Decimal(1), least))
        drift = up.add(drift, up.multiply(divided(Fraction(nano * count, NANO), up), tanh))
    squares = Fraction(sum(count * nano * nano for nano, count in different.items()), NANO * NANO)
    _, logarithm = ln_bounds(Fraction(ATTO, atto_delta), _PRECISION)
    spread = up.multiply(up.multiply(Decimal(2), logarithm), divided(squares, up))
    root = up.next_plus(up.sqrt(spread))  # sqrt rounds to the nearest
    return ceil(Fraction(up.add(drift, root)) * NANO)
