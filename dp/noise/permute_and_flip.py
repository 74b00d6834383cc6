"""Permute and flip: choose one of several candidates, the better ones more often, without telling how good they are."""

from array import array
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dp.noise.exponential_coin import FAR, flip_many
from dp.noise.random_source import RandomSource

Scores = Sequence[int] | NDArray[np.int64]

_FAR: Final = Fraction(FAR)


def permute_and_flip(scores: Scores, exponent: Fraction, random: RandomSource) -> int:
    """The index of the winner. In random order each candidate r is tried, and accepted with probability
    exp(-exponent * (best score - score of r)); the first to be accepted wins.

    That is a fair draw among the candidates whose coins fall heads, when each has one coin: so all are flipped at
    once, and the work does not depend on who wins. The best always falls heads.

    exponent: epsilon / (2 * D) when one unit moves each score by D at most; epsilon / D when it moves all of them the
    same way (monotone scores). Exact: scores are integers, coins are exact, no float decides.

    Private, in short: with p_s = exp(-exponent * (best score - s's score)), P(r wins) is the integral over t from 0
    to 1 of p_r * product over s != r of (1 - t * p_s). Only distances of scores matter, and it grows with r's score
    and falls with each other's; so at worst r is 2*D lower against all others (D with monotone scores). Let r fall by
    x, and c = exp(-exponent * x). While r is below the best, p_r alone changes, to c * p_r. While r is the best, every
    other p_s becomes p_s / c, and with u = t / c the integral is c times one over the same product from 0 to 1 / c,
    so at least c times what it was. Together the probability falls by exp(-epsilon) at most.

    Raises: ValueError without candidates, or for an exponent that is not above 0; TypeError for scores that are no
    integers.
    Source: McKenna, Sheldon 2020, arXiv:2010.12603, algorithm 1 and theorem 1.
    """
    if len(scores) == 0:
        raise ValueError("there are no candidates to choose from")
    if exponent <= 0:
        raise ValueError("the exponent of a choice must be above 0")
    gaps = _gaps(scores)
    heads = np.flatnonzero(flip_many(_near(gaps, exponent), lambda index: exponent * int(gaps[index]), random))
    return int(heads[random.below(len(heads))])


def top_picks(scores: Scores, exponent: Fraction, m: int, random: RandomSource) -> list[int]:
    """The indexes of m different candidates, best guess first: m choices, each among those not chosen before.

    Each of the m choices is as private as permute_and_flip() of this exponent alone, so what they cost adds up.

    Raises: ValueError unless there are m candidates and m is at least 1; otherwise as permute_and_flip().
    """
    if not 1 <= m <= len(scores):
        raise ValueError("choose at least one candidate, and at most as many as there are")
    left = list(range(len(scores)))
    rest = scores if isinstance(scores, np.ndarray) else list(scores)
    picks = []
    for _ in range(m):
        winner = permute_and_flip(rest, exponent, random)
        picks.append(left.pop(winner))
        rest = np.delete(rest, winner) if isinstance(rest, np.ndarray) else [*rest[:winner], *rest[winner + 1 :]]
    return picks


def _gaps(scores: Scores) -> NDArray[np.uint64] | list[int]:
    """How far each score is below the best, exactly."""
    if not isinstance(scores, np.ndarray):
        try:
            scores = np.frombuffer(array("q", scores), dtype=np.int64)  # refuses what is no integer, and cuts nothing
        except OverflowError:
            best = max(scores)
            return [best - score for score in scores]
    if scores.dtype != np.int64:
        raise TypeError("scores are integers, an int64 array or a sequence of int")
    # The distance of two signed 64-bit integers fits an unsigned one, and wrapping subtraction gives it.
    gaps: NDArray[np.uint64] = scores.max().astype(np.uint64) - scores.astype(np.uint64)
    return gaps


def _near(gaps: NDArray[np.uint64] | list[int], exponent: Fraction) -> NDArray[np.float64]:
    """exponent * gap in floats, where it is below FAR at most three roundings of 2**-53 off, so FAR * 2**-51."""
    if isinstance(gaps, list):
        return np.array([float(min(exponent * gap, _FAR)) for gap in gaps])
    # A gap of 1 or more times an exponent of FAR or more is FAR or more either way.
    return gaps.astype(np.float64) * float(min(exponent, _FAR))
