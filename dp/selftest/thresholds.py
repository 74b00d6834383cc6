"""Thresholds: a key that one unit alone has is shown as often as delta says."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from dp.nano import NANO
from dp.noise.discrete_laplace_batch import sample_many
from dp.noise.random_source import RandomSource
from dp.noise.threshold import smallest_threshold, threshold_delta
from dp.price import ATTO
from dp.selftest.chi_squared import Fit, fit
from dp.selftest.finding import FALSE_ALARM, Finding, Verdict, judged

_THRESHOLD: Final = 3


def thresholds(draws: int, random: RandomSource) -> Iterator[Finding]:
    """At epsilon 1 and a threshold of 3: how often 1 with noise reaches it, and what the thresholds beside it show."""
    shown = sum(1 + noise >= _THRESHOLD for noise in sample_many(Fraction(1), draws, random))

    def against(threshold: int) -> Fit:
        delta = float(threshold_delta(threshold, NANO, 1))
        return fit([shown, draws - shown], [delta, 1 - delta])

    right = against(_THRESHOLD)
    fits = Verdict.PASS if right.p_value > FALSE_ALARM else Verdict.FAIL
    yield Finding("threshold 3, epsilon 1: chi-squared of keys shown", right.statistic, right.p_value, fits)
    for other in (_THRESHOLD - 1, _THRESHOLD + 1):
        wrong = against(other)
        told = Verdict.PASS if wrong.p_value < FALSE_ALARM else Verdict.FAIL
        yield Finding(f"threshold 3, epsilon 1: told from {other}", wrong.statistic, wrong.p_value, told)
    smallest = smallest_threshold(NANO, 1, ATTO // 10**9)
    kept = threshold_delta(smallest, NANO, 1) <= Fraction(1, 10**9) < threshold_delta(smallest - 1, NANO, 1)
    yield judged("threshold for delta 1e-9, epsilon 1: the smallest", smallest, right=kept)
