"""Mechanisms: the only ways in which a question turns a secret number into a public one.

A question gets them as one object, and everything random happens in it. So what a question does with the data can be
watched call by call: the public parameters of each call say how much privacy it costs, its secret numbers how far one
unit moves them (tests/dp/questions/replay.py does that).
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dp.noise.discrete_gaussian import sample_many_gaussian
from dp.noise.integer_noise import add_noise
from dp.noise.permute_and_flip import permute_and_flip
from dp.noise.random_source import RandomSource


class Mechanisms(Protocol):
    """Nothing in them raises because of a secret number."""

    def laplace(self, totals: Sequence[int], scale: Fraction) -> tuple[int, ...]:
        """Each total with discrete Laplace noise of its own. Costs epsilon = L1 distance / scale."""
        ...

    def gaussian(self, totals: Sequence[int], variance: Fraction) -> tuple[int, ...]:
        """Each total with discrete Gaussian noise of its own. Costs rho = L2 distance**2 / (2 * variance)."""
        ...

    def best(self, scores: NDArray[np.int64], exponent: Fraction) -> int:
        """The index of a high score, by permute-and-flip.

        Costs epsilon = exponent * D when one unit changes all scores by a common number and, beyond that, each by 0 to
        D: so D is the sensitivity of monotone scores, and twice that of others.
        """
        ...

    def reaching(self, counts: Mapping[bytes, int], scale: Fraction, threshold: int) -> dict[bytes, int]:
        """The keys whose count, all above 0, reaches the threshold with discrete Laplace noise of its own; in order.

        Costs epsilon = L1 distance / scale, and as delta the probability that a key which only one unit has reaches the
        threshold.
        """
        ...


class RandomMechanisms:
    """The mechanisms, with the bits of a random source."""

    __slots__ = ("_random",)

    def __init__(self, random: RandomSource) -> None:
        self._random = random

    def laplace(self, totals: Sequence[int], scale: Fraction) -> tuple[int, ...]:
        return add_noise(totals, scale, self._random)

    def gaussian(self, totals: Sequence[int], variance: Fraction) -> tuple[int, ...]:
        drawn = sample_many_gaussian(variance, len(totals), self._random)
        return tuple(total + noise for total, noise in zip(totals, drawn, strict=True))

    def best(self, scores: NDArray[np.int64], exponent: Fraction) -> int:
        return permute_and_flip(scores, exponent, self._random)

    def reaching(self, counts: Mapping[bytes, int], scale: Fraction, threshold: int) -> dict[bytes, int]:
        keys = sorted(counts)  # no other order than that of the keys themselves leaves this
        noisy = add_noise([counts[key] for key in keys], scale, self._random)
        return {key: count for key, count in zip(keys, noisy, strict=True) if count >= threshold}
