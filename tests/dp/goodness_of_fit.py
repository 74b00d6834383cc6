"""Goodness of fit: whether integers could have come from a discrete Laplace of a claimed scale."""

from collections.abc import Sequence

import numpy as np
from scipy import stats

# A true claim is refused one time in a million.
FALSE_ALARM = 1e-6
_BINS = 40


def cumulative(z: float, scale: float) -> float:
    """P(Z <= z) for an integer z."""
    tail = np.exp(-(z + 1 if z >= 0 else -z) / scale) / (1 + np.exp(-1 / scale))
    return float(1 - tail if z >= 0 else tail)


def p_value(draws: Sequence[int], scale: float) -> float:
    """Of a chi-squared test with two tail bins; every bin expects five draws at least."""
    n = len(draws)
    # Edges at even steps of probability, by the two exponential halves; for small scales they fall together.
    levels = np.arange(1, _BINS) / _BINS
    quantiles = np.where(levels < 0.5, np.log(2 * levels), -np.log(2 - 2 * levels)) * scale
    far = scale * np.log(max(n / 40, 2))
    edges = sorted({int(np.floor(q)) for q in (*quantiles, -far, far, -1, 0)})
    edges = [e for e in edges if n * cumulative(e, scale) >= 5 and n * (1 - cumulative(e, scale)) >= 5]
    probabilities = np.diff([0.0, *(cumulative(e, scale) for e in edges), 1.0])
    # A draw belongs to the first edge that it does not pass.
    observed = np.bincount(np.searchsorted(edges, np.array(draws, dtype=np.float64)), minlength=len(edges) + 1)
    expected, seen = _merged(probabilities * n, observed)
    return float(stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), len(expected) - 1))


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


def assert_fits(draws: Sequence[int], scale: float) -> None:
    """The claimed scale is believed, and 0.7 and 1.3 of it are not: the test has the power to tell."""
    assert p_value(draws, scale) > FALSE_ALARM
    assert p_value(draws, 0.7 * scale) < FALSE_ALARM
    assert p_value(draws, 1.3 * scale) < FALSE_ALARM
