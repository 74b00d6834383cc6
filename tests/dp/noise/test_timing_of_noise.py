"""Timing: how long a draw takes says nothing about what was drawn (Jin et al. 2021, arXiv:2112.05307).

Times are this thread's own processor time, and ranks are correlated, so that an interruption is one odd rank and not a
thousand times the others. By chance alone a correlation of 2,000 draws is beyond 0.11 one time in a million.
"""

import gc
import time
from collections.abc import Callable
from fractions import Fraction

import pytest
from scipy import stats

from dp import Aggregates, Caps, Count, Mean, Price, release
from dp.grid import Grid
from dp.noise.discrete_gaussian import sample_many_gaussian
from dp.noise.discrete_laplace import sample_discrete_laplace
from dp.noise.discrete_laplace_batch import sample_many
from dp.noise.permute_and_flip import permute_and_flip
from dp.noise.random_source import OperatingSystemRandom
from tests.sizes import sized

DRAWS = sized(800, 60_000)
# Of the soak's draws, one time in a million is 0.02; the rest is for what a machine does besides.
NOTHING = sized(180, 40) / 1000
WIDE = 2**16


def correlation(draw: Callable[[], float], draws: int = DRAWS) -> float:
    """Of the time that a draw takes with the size of what is drawn, by ranks."""
    clock = time.thread_time_ns
    times, sizes = [], []
    draw()
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(draws):
            begin = clock()
            drawn = draw()
            times.append(clock() - begin)
            sizes.append(abs(drawn))
    finally:
        if collecting:
            gc.enable()
    return abs(float(stats.spearmanr(times, sizes).statistic))


def shows(draw: Callable[[], float], tries: int = 3) -> bool:
    """Whether the time tells the size each time: a busy machine may drift once, a sampler that leaks always does."""
    return all(correlation(draw) > NOTHING for _ in range(tries))


@pytest.mark.parametrize("scale", [10, 10**6])
def test_the_time_of_the_fixed_work_sampler_does_not_depend_on_the_noise(scale: int) -> None:
    random = OperatingSystemRandom()
    assert not shows(lambda: sample_many(Fraction(scale), 1, random)[0])


@pytest.mark.parametrize("scale", [1, 10, 10**6])
def test_the_same_test_sees_the_time_of_the_scalar_sampler(scale: int) -> None:
    random = OperatingSystemRandom()
    assert shows(lambda: sample_discrete_laplace(Fraction(scale), random))


def test_the_time_of_gaussian_noise_does_not_depend_on_it() -> None:
    random = OperatingSystemRandom()
    assert not shows(lambda: sample_many_gaussian(Fraction(10**6), 1, random)[0])


def test_the_time_of_a_choice_does_not_depend_on_who_wins() -> None:
    random = OperatingSystemRandom()
    scores = [-(index % 7) for index in range(40)]
    assert not shows(lambda: permute_and_flip(scores, Fraction(1, 10), random))


def test_the_time_of_a_released_count_does_not_depend_on_its_noise() -> None:
    question, price = Count(Caps(1)), Price.pure(10**9 // WIDE)
    assert not shows(lambda: float(release(question, "", Aggregates(((0,),)), price).groups[0].value))


def test_the_time_of_a_released_mean_does_not_depend_on_its_noise() -> None:
    question, price = Mean(Caps(1), Grid.of("0", "100", "0.01")), Price.pure(10**9)
    aggregates = Aggregates(((0,), (20_000,)))

    def deviation() -> float:
        return float(release(question, "", aggregates, price).groups[0].value) - 50

    assert not shows(deviation)
