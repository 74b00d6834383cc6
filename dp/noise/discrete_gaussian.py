"""The discrete Gaussian: an integer z with probability proportional to exp(-z**2 / (2 * sigma**2)), drawn exactly.

A discrete Laplace number y of scale t = floor(sigma) + 1 is kept with probability exp(-x) for
x = (|y| - sigma**2 / t)**2 / (2 * sigma**2): multiplied out, exp(-|y| / t) * exp(-x) is exp(-y**2 / (2 * sigma**2))
times what does not depend on y. How many y are drawn until one is kept does not depend on which one is.

Added to integers of L2 sensitivity D it is rho-zero-concentrated private, rho = D**2 / (2 * sigma**2): the Renyi
divergence of order alpha between the noise and the noise moved by integers of that length is at most alpha * rho.

Source: Canonne, Kamath, Steinke 2020, arXiv:2004.00010, algorithm 3 and theorem 14.
"""

from fractions import Fraction
from math import isqrt
from typing import Final

import numpy as np

from dp.noise.discrete_laplace import sample_discrete_laplace
from dp.noise.discrete_laplace_batch import sample_many
from dp.noise.exponential_coin import FAR, flip, flip_many
from dp.noise.random_source import RandomSource

# Of the Laplace numbers two thirds are kept, and fewer for a sigma below 1: some are drawn for the pot.
_SPARE: Final = 16
_FAR: Final = Fraction(FAR)
# Numbers of larger noises may be beyond what a float holds.
_FLOAT_VARIANCE: Final = 2**1000


def sample_discrete_gaussian(sigma_squared: Fraction, random: RandomSource) -> int:
    """Draw one integer z with probability proportional to exp(-z**2 / (2 * sigma_squared)).

    sigma_squared: in the square of the unit of the answer, > 0. Exact: integers only, no floats. The time it takes
    depends on the outcome; see sample_many_gaussian() for a sampler whose work hardly does.

    Raises: ValueError if sigma_squared <= 0.
    """
    scale = _proposal_scale(sigma_squared)
    while True:
        proposed = sample_discrete_laplace(scale, random)
        if flip(_refusal(proposed, scale, sigma_squared), random):
            return proposed


def sample_many_gaussian(sigma_squared: Fraction, n: int, random: RandomSource) -> list[int]:
    """Draw n independent integers z, each with probability proportional to exp(-z**2 / (2 * sigma_squared)), exactly.

    Work is as that of the batches of discrete_laplace_batch.py; how many numbers are drawn depends on how many are
    kept, not on which.

    Raises: ValueError if sigma_squared <= 0.
    """
    scale = _proposal_scale(sigma_squared)
    drawn: list[int] = []
    while len(drawn) < n:
        wanted = n - len(drawn)
        drawn += _kept(sample_many(scale, wanted + wanted // 2 + _SPARE, random), scale, sigma_squared, random)
    return drawn[:n]


def _kept(proposed: list[int], scale: Fraction, sigma_squared: Fraction, random: RandomSource) -> list[int]:
    def exact(index: int) -> Fraction:
        return _refusal(proposed[index], scale, sigma_squared)

    if sigma_squared < _FLOAT_VARIANCE:
        # u = (|y| - c) / sigma, c <= sigma: where u**2 / 2 is below FAR both terms are below 14 * sigma, so that u is
        # off by less than 2**-46 and u**2 / 2 by less than 2**-42.
        away = np.abs(np.array(proposed, dtype=np.float64)) - float(sigma_squared / scale)
        near = (away / float(sigma_squared) ** 0.5) ** 2 / 2
    else:
        near = np.array([float(min(exact(index), _FAR)) for index in range(len(proposed))])
    return [proposed[index] for index in np.flatnonzero(flip_many(near, exact, random)).tolist()]


def _proposal_scale(sigma_squared: Fraction) -> Fraction:
    if sigma_squared <= 0:
        raise ValueError("the variance of a noise must be above 0")
    return Fraction(isqrt(sigma_squared.numerator // sigma_squared.denominator) + 1)


def _refusal(proposed: int, scale: Fraction, sigma_squared: Fraction) -> Fraction:
    """The x with which the proposed number is kept with probability exp(-x)."""
    return (abs(proposed) - sigma_squared / scale) ** 2 / (2 * sigma_squared)
