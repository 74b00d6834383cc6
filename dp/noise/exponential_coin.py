"""Exponential coins: each falls heads with probability exp(-x), exactly, many at once.

A coin compares 32 random bits with 2**32 * exp(-x) in floats. Only when the two are closer than the floats are certain
of (three words of 2**32), are more bits of both looked at, with x as a fraction. So no float decides how a coin falls,
and the random bytes that are drawn do not depend on it, but for that refinement.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dp.noise.discrete_laplace import bernoulli_exp
from dp.noise.exponential_bits import tail_threshold
from dp.noise.random_source import RandomSource

# From here on a coin is one of exp(-64) at most, and only a first word of 0 or 1 is undecided.
FAR: Final = 64.0
_WORD_BITS: Final = 32
_REFINE_BITS: Final = 64


def flip_many(near: NDArray[np.float64], exact: Callable[[int], Fraction], random: RandomSource) -> NDArray[np.bool_]:
    """How each coin falls: True for heads.

    near: each x, at most 2**-34 off, and at least 0; of an x above FAR anything above FAR - 2**-34.
    exact: the x of the coin at an index, as a fraction, at least 0.

    2**32 * exp(-x) is then less than 1 off: 2**32 * exp(-x) * 2**-34 is at most a quarter, and the float exponential,
    which is right to a few times 2**-52, adds nothing to speak of.
    """
    words = np.frombuffer(random.bytes(_WORD_BITS // 8 * len(near)), dtype="<u4")
    thresholds = np.exp(-np.minimum(near, FAR)) * 2.0**_WORD_BITS
    above = thresholds - words  # both below 2**33: what rounding adds is far below the margin
    heads: NDArray[np.bool_] = above >= 2
    for coin in np.flatnonzero(~heads & (above > -1)).tolist():
        heads[coin] = _refined(int(words[coin]), exact(coin), random)
    return heads


def flip(exponent: Fraction, random: RandomSource) -> bool:
    """One coin of probability exp(-exponent), exponent >= 0. The time it takes depends on how it falls.

    Source: Canonne, Kamath, Steinke 2020, arXiv:2004.00010, algorithm 1: one coin of exp(-1) for each whole.
    """
    whole, rest = divmod(exponent.numerator, exponent.denominator)
    while whole and bernoulli_exp(1, 1, random):
        whole -= 1
    return whole == 0 and bernoulli_exp(rest, exponent.denominator, random)


def _refined(word: int, exponent: Fraction, random: RandomSource) -> bool:
    """Whether a uniform number that begins with the bits of `word` is below exp(-exponent)."""
    if exponent == 0:
        return True
    bits = _WORD_BITS
    while True:
        wanted = tail_threshold(1 / exponent, 0, bits)
        if word != wanted:
            return word < wanted
        # All bits so far agree, and exp(-x) of a fraction is irrational: some later bit tells.
        bits += _REFINE_BITS
        word = word << _REFINE_BITS | int.from_bytes(random.bytes(_REFINE_BITS // 8), "little")
