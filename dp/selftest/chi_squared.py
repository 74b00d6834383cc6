"""Chi-squared: how far observed counts are from what is expected, and how likely it is to be so far by chance."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import erfc, exp, lgamma, log, sqrt
from typing import Final

# The usual rule for a cell: below it, the statistic has not the chi-squared distribution.
_LEAST_EXPECTED: Final = 5.0


@dataclass(frozen=True, slots=True)
class Fit:
    statistic: float
    p_value: float


def fit(observed: Sequence[int], probabilities: Sequence[float]) -> Fit:
    """Of how often each outcome came; neighbours are put together until each is expected five times.

    An outcome that is not possible, and came, has p value 0.
    """
    n = sum(observed)
    cells: list[tuple[float, int]] = []
    expected, seen = 0.0, 0
    for count, probability in zip(observed, probabilities, strict=True):
        if count and probability <= 0:
            return Fit(float(n), 0.0)
        expected, seen = expected + n * probability, seen + count
        if expected >= _LEAST_EXPECTED:
            cells.append((expected, seen))
            expected, seen = 0.0, 0
    if cells:
        cells[-1] = (cells[-1][0] + expected, cells[-1][1] + seen)
    statistic = sum((came - wanted) ** 2 / wanted for wanted, came in cells)
    return Fit(statistic, tail(statistic, max(1, len(cells) - 1)))


def tail(statistic: float, freedom: int) -> float:
    """P(a chi-squared number of so many degrees of freedom is above the statistic).

    Source: Abramowitz, Stegun 1964, 26.4.4 (odd) and 26.4.5 (even): finite sums.
    """
    half = statistic / 2
    if half <= 0:
        return 1.0
    odd = freedom % 2
    power, total = (0.5, erfc(sqrt(half))) if odd else (0.0, 0.0)
    while power < freedom / 2:
        total += exp(power * log(half) - half - lgamma(power + 1))
        power += 1
    return min(1.0, total)
