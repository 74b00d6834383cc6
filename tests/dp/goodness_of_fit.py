"""Goodness of fit: whether integers could have come from a claimed distribution. Its arithmetic is not that of dp."""

from collections.abc import Callable, Sequence
from math import erf, sqrt

import numpy as np
from scipy import stats

# A true claim is refused one time in a million.
FALSE_ALARM = 1e-6
_BINS = 40

# P(Z <= z) for an integer z.
Cumulative = Callable[[int], float]
# The distribution of each scale, its width being the scale times a constant.
Law = Callable[[float], Cumulative]


def laplace(scale: float) -> Cumulative:
    """The discrete Laplace, with probabilities in proportion to exp(-|z| / scale)."""

    def cumulative(z: int) -> float:
        tail = np.exp(-(z + 1 if z >= 0 else -z) / scale) / (1 + np.exp(-1 / scale))
        return float(1 - tail if z >= 0 else tail)

    return cumulative


def gaussian(sigma: float) -> Cumulative:
    """The discrete Gaussian, with probabilities in proportion to exp(-z**2 / (2 * sigma**2))."""
    if sigma > 10_000:  # the sum over the integers is the integral to more digits than a float has
        return lambda z: (1 + erf((z + 0.5) / sigma / sqrt(2))) / 2
    reach = int(12 * sigma) + 12
    masses = np.exp(-(np.arange(-reach, reach + 1, dtype=np.float64) ** 2) / (2 * sigma**2))
    sums = np.cumsum(masses) / masses.sum()
    return lambda z: 0.0 if z < -reach else float(sums[min(z + reach, 2 * reach)])


def p_value(draws: Sequence[int], scale: float, law: Law = laplace) -> float:
    """Of a chi-squared test with two tail bins; every bin expects five draws at least."""
    n, cumulative = len(draws), law(scale)
    far = 10 / n  # each tail bin expects ten draws
    levels = [far, *(np.arange(1, _BINS) / _BINS).tolist(), 1 - far]
    edges = sorted({_quantile(level, cumulative) for level in levels} | {-1, 0})
    probabilities = np.diff([0.0, *(cumulative(edge) for edge in edges), 1.0])
    # A draw belongs to the first edge that it does not pass.
    observed = np.bincount(
        np.searchsorted(np.array(edges, dtype=np.float64), np.array(draws, dtype=np.float64)), minlength=len(edges) + 1
    )
    return counts_p_value(observed, probabilities)


def counts_p_value(observed: Sequence[int] | np.ndarray, probabilities: Sequence[float] | np.ndarray) -> float:
    """Of a chi-squared test of how often each of several outcomes came; what is rare is put together."""
    observed, probabilities = np.asarray(observed), np.asarray(probabilities)
    if observed[probabilities == 0].any():
        return 0.0
    expected, seen = _merged(probabilities * observed.sum(), observed)
    return float(stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), len(expected) - 1))


def assert_fits(draws: Sequence[int], scale: float, law: Law = laplace) -> None:
    """The claimed scale is believed, and 0.7 and 1.3 of it are not: the test has the power to tell."""
    assert p_value(draws, scale, law) > FALSE_ALARM
    assert p_value(draws, 0.7 * scale, law) < FALSE_ALARM
    assert p_value(draws, 1.3 * scale, law) < FALSE_ALARM


def assert_same(some: Sequence[int], others: Sequence[int]) -> None:
    """Two samples could have come from one distribution: a chi-squared test on the bins of their common quantiles."""
    pooled = np.sort(np.array([*some, *others], dtype=np.float64))
    rare = 10 / len(pooled)
    levels = [rare, *(np.arange(1, _BINS) / _BINS).tolist(), 1 - rare]
    edges = np.unique(np.quantile(pooled, levels, method="lower"))
    table = np.array(
        [
            np.bincount(np.searchsorted(edges, np.array(draws, dtype=np.float64)), minlength=len(edges) + 1)
            for draws in (some, others)
        ]
    )
    assert stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue > FALSE_ALARM


def _quantile(level: float, cumulative: Cumulative) -> int:
    """The smallest integer whose cumulative probability is at least `level`."""
    low, high = -1, 1
    while cumulative(low) >= level:
        low *= 2
    while cumulative(high) < level:
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if cumulative(middle) >= level else (middle, high)
    return high


def _merged(expected: np.ndarray, observed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Neighbouring bins put together until each expects five."""
    bins: list[list[float]] = [[0.0, 0.0]]
    for e, o in zip(expected, observed, strict=True):
        if bins[-1][0] >= 5:
            bins.append([0.0, 0.0])
        bins[-1][0] += e
        bins[-1][1] += o
    if bins[-1][0] < 5 and len(bins) > 1:
        last = bins.pop()
        bins[-1][0] += last[0]
        bins[-1][1] += last[1]
    merged = np.array(bins)
    return merged[:, 0], merged[:, 1]
