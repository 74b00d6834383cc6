"""Debiasing: how many truly were of each category, from answers that randomized response made noisy.

Of N true answers among n, the told count c has the mean N * p + (n - N) * q, so (c - n * q) / (p - q) has the mean N.
It can be below 0 or above n, and is left so: cut off, it would be biased.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, floor, log
from typing import Final

from dp.errors import ParameterError
from dp.interval import MISS
from dp.nano import NANO
from dp.noise.exponential_bits import exp_bounds
from dp.noise.randomized_response import RandomizedResponse

# 1 - exp(-epsilon) takes away nine digits at most, and the largest count has a few more.
_DIGITS: Final = 60
# What floats may lose in the logarithm of a probability of 10**9 coins, and more.
_SLACK: Final = 1e-6
# Where the best s of a Chernoff bound is sought; another one gives a wider interval, not a wrong one.
_REACH: Final = 100.0
_STEPS: Final = 80


@dataclass(frozen=True, slots=True)
class TrueCount:
    """count: without bias, to a billionth. interval: where the true number lies, but for one in twenty; both ends are
    whole numbers from 0 to all. It is of the telling's randomness alone."""

    category: int
    count: Fraction
    interval: tuple[int, int]


def true_counts(response: RandomizedResponse, told: Sequence[int]) -> tuple[TrueCount, ...]:
    """Of each category, how many truly were of it. It costs nothing: what was told is noisy already.

    told: how often each category was told, in order.

    The interval holds every N under which a count this far from its mean, on its side, may have a chance of 1/40: by
    Chernoff's bound P(C >= c) <= E[exp(s * C)] / exp(s * c), C being N coins of p and n - N coins of q. So it misses
    less often than one in twenty, in each category on its own; it is some 1.4 times as wide as it would have to be.

    Raises: ParameterError for another number of counts than categories, or counts that are no whole numbers.
    """
    if len(told) != response.categories:
        raise ParameterError("told", "it has one count for each category, in order")
    if any(type(count) is not int or count < 0 for count in told):
        raise ParameterError("told", "a count is an int of at least 0")
    total = sum(told)
    return tuple(
        TrueCount(category, _unbiased(response, count, total), _interval(response, count, total))
        for category, count in enumerate(told)
    )


def _unbiased(response: RandomizedResponse, count: int, total: int) -> Fraction:
    """(c - n * q) / (p - q), which is (c * (1 + (k - 1) * a) - n * a) / (1 - a) with a = exp(-epsilon)."""
    low, _ = exp_bounds(Fraction(response.nano_epsilon, NANO), _DIGITS)
    a = Fraction(low) if low.adjusted() > -_DIGITS else 0  # as a fraction it could have a billion digits
    exact = (count * (1 + (response.categories - 1) * a) - total * a) / (1 - a)
    return Fraction(round(exact * NANO), NANO)


def _interval(response: RandomizedResponse, count: int, total: int) -> tuple[int, int]:
    a = exp(-response.nano_epsilon / NANO)
    p, q = 1 / (1 + (response.categories - 1) * a), a / (1 + (response.categories - 1) * a)
    lie = (response.categories - 1) * q
    least = log(MISS / 2) - _SLACK

    def plausible(true: int) -> bool:
        def chance(s: float) -> float:
            """The logarithm of the bound, convex in s; s above 0 bounds P(C >= c), below 0 P(C <= c)."""
            told, others_told = log(lie + p * exp(s)), log(1 - q + q * exp(s))
            return true * told + (total - true) * others_told - s * count

        return _minimum(chance) >= least

    centre = min(max(_unbiased(response, count, total), Fraction(0)), Fraction(total))
    return _last_plausible(floor(centre), 0, plausible), _last_plausible(ceil(centre), total, plausible)


def _last_plausible(start: int, end: int, plausible: Callable[[int], bool]) -> int:
    """How far from start towards end it is plausible; the further, the less."""
    if not plausible(start):
        return start
    if plausible(end):
        return end
    while abs(end - start) > 1:
        middle = (start + end) // 2
        start, end = (middle, end) if plausible(middle) else (start, middle)
    return start


def _minimum(convex: Callable[[float], float]) -> float:
    low, high = -_REACH, _REACH
    for _ in range(_STEPS):
        third = (high - low) / 3
        if convex(low + third) < convex(high - third):
            high -= third
        else:
            low += third
    return convex((low + high) / 2)
