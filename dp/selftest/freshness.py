"""Freshness: processes that are forked from one draw noise of their own."""

import os
import warnings
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from dp.noise.discrete_laplace import sample_discrete_laplace
from dp.noise.discrete_laplace_batch import sample_many
from dp.noise.random_source import RandomSource
from dp.selftest.finding import Finding, Verdict, judged

_FORKS: Final = 8
_EACH: Final = 8
# Of some hundred numbers of this width no two are the same by chance.
_WIDE: Final = Fraction(2**100)


def freshness(random: RandomSource) -> Iterator[Finding]:
    """How many numbers were drawn twice, by this process and its forks."""
    check = f"{_FORKS} forks and this process: numbers drawn twice"
    if not hasattr(os, "fork"):
        yield Finding(check, None, None, Verdict.SKIPPED)
        return
    drawn = _drawn(random)  # whatever could be kept over a fork is there by now
    for _ in range(_FORKS):
        drawn += _drawn_by_a_fork(random)
    drawn += _drawn(random)
    whole = len(drawn) == (_FORKS + 2) * 2 * _EACH
    yield judged(check, len(drawn) - len(set(drawn)), right=whole and len(set(drawn)) == len(drawn))


def _drawn(random: RandomSource) -> list[int]:
    return [*sample_many(_WIDE, _EACH, random), *(sample_discrete_laplace(_WIDE, random) for _ in range(_EACH))]


def _drawn_by_a_fork(random: RandomSource) -> list[int]:
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads: the fork calls nothing that waits for one
        fork = os.fork()
    if fork == 0:
        try:
            os.write(writing, " ".join(map(str, _drawn(random))).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        numbers = [int(number) for number in told.read().split()]
    os.waitpid(fork, 0)
    return numbers
