"""Randomized response: each person's answer is made noisy before it is collected, so that nobody has to be trusted.

One of k categories, numbered from 0, is told: the true one with probability p = e / (e + k - 1), each other one with
q = 1 / (e + k - 1), where e = exp(epsilon). With two categories this is Warner's coin, p = e / (1 + e).

Private, in short: what is told has probability p or q whatever the truth is, and p / q = exp(epsilon) exactly, the very
epsilon that is named. It hides one answer of one person; a person who answers m questions has spent m times epsilon.

Source: Warner 1965; Kairouz, Bonawitz, Ramage 2016, arXiv:1602.07387, section 2.2 (k-ary).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dp.epsilon import require_nano_epsilon
from dp.errors import ParameterError
from dp.nano import NANO
from dp.noise.exponential_bits import exp_bounds, rounding_down, rounding_up
from dp.noise.random_source import OperatingSystemRandom, RandomSource

MAX_CATEGORIES: Final = 2**31 - 1
_WORD_BITS: Final = 64
_GUARD_DIGITS: Final = 12


@dataclass(frozen=True, slots=True)
class RandomizedResponse:
    """How answers are told: which epsilon, out of how many categories.

    Raises: ParameterError.
    """

    nano_epsilon: int
    categories: int = 2

    def __post_init__(self) -> None:
        require_nano_epsilon(self.nano_epsilon)
        if type(self.categories) is not int or not 2 <= self.categories <= MAX_CATEGORIES:
            raise ParameterError("categories", "it is an int from 2 to 2**31 - 1, the number of possible answers")

    def tell(self, truth: int) -> int:
        """What to say instead of the truth, with fresh randomness: ask once a person, keep what comes."""
        return tell_with_random(self, [truth], OperatingSystemRandom())[0]

    def tell_many(self, truths: Sequence[int] | NDArray[np.int64]) -> list[int]:
        """The same for the answers of many, each on its own."""
        return tell_with_random(self, truths, OperatingSystemRandom())


def tell_with_random(
    response: RandomizedResponse, truths: Sequence[int] | NDArray[np.int64], random: RandomSource
) -> list[int]:
    """The deterministic half of tell(). Called by it and by tests only.

    The truth is left with probability (k - 1) * q, and then each other category is as likely; whether it is left, one
    word of random bits says, or more of them when all of its bits are those of the probability.

    Raises: ParameterError for a truth that is no category.
    """
    k = response.categories
    told = []
    for truth in truths:
        if not 0 <= truth < k:
            raise ParameterError("truth", "it is the number of a category, from 0 to categories - 1")
        # Both are drawn whatever comes, so that the number of bits does not tell.
        lies, other = _lies(response, random), random.below(k - 1)
        told.append(int(truth) if not lies else other + int(other >= truth))
    return told


def _lies(response: RandomizedResponse, random: RandomSource) -> bool:
    bits, word = _WORD_BITS, int.from_bytes(random.bytes(_WORD_BITS // 8), "little")
    while True:
        wanted = _lie_threshold(response, bits)
        if word != wanted:
            return word < wanted
        bits += _WORD_BITS
        word = word << _WORD_BITS | int.from_bytes(random.bytes(_WORD_BITS // 8), "little")


@lru_cache(maxsize=256)
def _lie_threshold(response: RandomizedResponse, bits: int) -> int:
    """floor(2**bits * (k - 1) / (e + k - 1)), exactly: with a = 1 / e it is (k - 1) * a / (1 + (k - 1) * a)."""
    others = response.categories - 1
    precision = bits * 31 // 100 + len(str(others)) + _GUARD_DIGITS
    while True:  # a is irrational, so that a fine enough enclosure holds no integer
        low, high = exp_bounds(Fraction(response.nano_epsilon, NANO), precision)
        down, up = rounding_down(precision), rounding_up(precision)
        low, high = down.multiply(low, others), up.multiply(high, others)
        low, high = down.divide(low, up.add(1, low)), up.divide(high, down.add(1, high))
        low, high = down.multiply(low, 2**bits), up.multiply(high, 2**bits)
        if int(low) == int(high):
            return int(low)
        precision *= 2
