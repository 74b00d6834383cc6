"""The discrete Laplace: an integer z with probability proportional to exp(-|z| / scale), drawn exactly."""

from fractions import Fraction

from dp.noise.random_source import RandomSource


def sample_discrete_laplace(scale: Fraction, random: RandomSource) -> int:
    """Draw one integer z with probability proportional to exp(-|z| / scale).

    scale: sensitivity / epsilon, in the unit of the answer, > 0. Exact: integers only, no floats. The time it takes
    depends on the outcome; see discrete_laplace_batch.py for a sampler whose work does not.

    Raises: ValueError if scale <= 0.
    Source: Canonne, Kamath, Steinke 2020, arXiv:2004.00010, algorithm 2.
    """
    if scale <= 0:
        raise ValueError("the scale of a noise must be above 0")
    t, s = scale.numerator, scale.denominator
    while True:
        u = random.below(t)
        if not bernoulli_exp(u, t, random):
            continue
        v = 0
        while bernoulli_exp(1, 1, random):
            v += 1
        magnitude = (u + t * v) // s
        negative = random.below(2)
        if negative and magnitude == 0:
            continue
        return -magnitude if negative else magnitude


def bernoulli_exp(numerator: int, denominator: int, random: RandomSource) -> bool:
    """True with probability exp(-numerator / denominator), for a fraction from 0 to 1.

    Source: Canonne, Kamath, Steinke 2020, arXiv:2004.00010, algorithm 1.
    """
    k = 1
    while random.below(denominator * k) < numerator:
        k += 1
    return k % 2 == 1
