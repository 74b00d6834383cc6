"""Integer noise: exact totals in, the same totals with discrete Laplace noise out."""

from collections.abc import Sequence
from fractions import Fraction

from dp.epsilon import require_nano_epsilon
from dp.nano import NANO
from dp.noise.discrete_laplace_batch import sample_many
from dp.noise.random_source import RandomSource


def noise_scale(sensitivity: int, nano_epsilon: int) -> Fraction:
    """The scale sensitivity / epsilon, exactly, from the very integer that is charged.

    Raises: ValueError for a sensitivity below 1; ParameterError for a nano_epsilon out of range.
    """
    if sensitivity < 1:
        raise ValueError("a sensitivity is an integer of at least 1")
    return Fraction(sensitivity * NANO, require_nano_epsilon(nano_epsilon))


def add_noise(totals: Sequence[int], scale: Fraction, random: RandomSource) -> tuple[int, ...]:
    """Each total with noise of its own. Integers all the way: nothing is rounded, clamped or wrapped."""
    return tuple(total + noise for total, noise in zip(totals, sample_many(scale, len(totals), random), strict=True))
