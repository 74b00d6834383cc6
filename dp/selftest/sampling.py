"""Sampling: each sampler against its exact distribution, and against two that it must not be taken for."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from dp.nano import NANO
from dp.noise.discrete_gaussian import sample_discrete_gaussian, sample_many_gaussian
from dp.noise.discrete_laplace import sample_discrete_laplace
from dp.noise.discrete_laplace_batch import sample_many
from dp.noise.exponential_bits import exp_bounds
from dp.noise.permute_and_flip import permute_and_flip
from dp.noise.random_source import RandomSource
from dp.noise.randomized_response import RandomizedResponse, tell_with_random
from dp.selftest.chi_squared import fit
from dp.selftest.finding import FALSE_ALARM, Finding, Verdict, judged
from dp.selftest.law import Law

# What is drawn one by one is slow: half of the draws tell.
_SINGLE: Final = 2
_SCORES: Final = (3, -2, 5, 5, 0, 4)
_WRONG: Final = (0.7, 1.3)


@dataclass(frozen=True, slots=True)
class _Sampler:
    """law: of a factor; 1 is what is claimed."""

    name: str
    draw: Callable[[int, RandomSource], Sequence[int]]
    law: Callable[[float], Law]
    share: int = 1


def _one_by_one(draw: Callable[[RandomSource], int]) -> Callable[[int, RandomSource], Sequence[int]]:
    return lambda n, random: [draw(random) for _ in range(n)]


SAMPLERS: Final = (
    _Sampler(
        "discrete Laplace one by one, scale 10",
        _one_by_one(lambda random: sample_discrete_laplace(Fraction(10), random)),
        lambda factor: Law.laplace(10 * factor),
        _SINGLE,
    ),
    _Sampler(
        "discrete Laplace in a batch, scale 10",
        lambda n, random: sample_many(Fraction(10), n, random),
        lambda factor: Law.laplace(10 * factor),
    ),
    _Sampler(
        "discrete Laplace in a batch, scale 1000/3",
        lambda n, random: sample_many(Fraction(1000, 3), n, random),
        lambda factor: Law.laplace(1000 / 3 * factor),
    ),
    _Sampler(
        "discrete Gaussian one by one, sigma 10",
        _one_by_one(lambda random: sample_discrete_gaussian(Fraction(100), random)),
        lambda factor: Law.gaussian(10 * factor),
        _SINGLE,
    ),
    _Sampler(
        "discrete Gaussian in a batch, sigma 10",
        lambda n, random: sample_many_gaussian(Fraction(100), n, random),
        lambda factor: Law.gaussian(10 * factor),
    ),
    _Sampler(
        "permute-and-flip of six candidates, exponent 5/4",
        _one_by_one(lambda random: permute_and_flip(_SCORES, Fraction(5, 4), random)),
        lambda factor: Law.choice(_SCORES, 1.25 * factor),
        _SINGLE,
    ),
    _Sampler(
        "randomized response of two, epsilon 1",
        lambda n, random: tell_with_random(RandomizedResponse(NANO), [1] * n, random),
        lambda factor: Law.told(1, 2, factor),
    ),
    _Sampler(
        "randomized response of five, epsilon 1",
        lambda n, random: tell_with_random(RandomizedResponse(NANO, 5), [2] * n, random),
        lambda factor: Law.told(2, 5, factor),
    ),
)


def sampling(draws: int, random: RandomSource) -> Iterator[Finding]:
    """Of each sampler: the claimed distribution fits, one 0.7 and one 1.3 times as wide does not."""
    yield _bytes(draws, random)
    yield _float_exponential()
    for sampler in SAMPLERS:
        drawn = sampler.draw(draws // sampler.share, random)
        found = sampler.law(1).fit(drawn)
        fits = Verdict.PASS if found.p_value > FALSE_ALARM else Verdict.FAIL
        yield Finding(f"{sampler.name}: chi-squared", found.statistic, found.p_value, fits)
        for factor in _WRONG:
            wrong = sampler.law(factor).fit(drawn)
            told = Verdict.PASS if wrong.p_value < FALSE_ALARM else Verdict.FAIL
            yield Finding(f"{sampler.name}: told from {factor} of it", wrong.statistic, wrong.p_value, told)


def _bytes(draws: int, random: RandomSource) -> Finding:
    counts = np.bincount(np.frombuffer(random.bytes(draws), dtype=np.uint8), minlength=256).tolist()
    found = fit(counts, [1 / 256] * 256)
    fits = Verdict.PASS if found.p_value > FALSE_ALARM else Verdict.FAIL
    return Finding("random bytes, each as likely: chi-squared", found.statistic, found.p_value, fits)


def _float_exponential() -> Finding:
    """exponential_coin.py sorts out by numpy's float exponential, and leaves it a margin of 2**-34."""
    points = np.linspace(0.0, 64.0, 258)[1:]
    off = Fraction(0)
    for point, computed in zip(points.tolist(), np.exp(-points).tolist(), strict=True):
        low, high = exp_bounds(Fraction(point), 30)
        off = max(off, abs(Fraction(computed) - Fraction(low)) / Fraction(high))
    return judged("float exponential: off by at most, of its value", float(off), right=off < Fraction(1, 2**40))
