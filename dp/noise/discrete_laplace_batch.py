"""Discrete Laplace in batches: many exact draws, with work that does not depend on what is drawn.

A draw is the difference of two geometric numbers, and each binary digit of those is an independent coin of a known
probability p (exponential_bits.py). A coin compares 32 random bits with the first 32 bits of p. Only when those are
equal, one time in 2**32 a coin, are more bits of both looked at; so each coin is exact, not within 2**-32.

What depends on the outcome: that refinement (whether it happens hangs on the random word, not on how the coin falls),
the digits beyond the last one that is drawn as a coin of its own (one time in e**64 or less), and the length of the
integers when the scale is above 2**55 or so. The number of random bytes and of operations on arrays is otherwise fixed
by the scale and the number of draws.
"""

from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dp.noise.exponential_bits import digit_threshold, tail_threshold
from dp.noise.random_source import RandomSource

_WORD_BITS: Final = 32
_REFINE_BITS: Final = 64
_LIMB_BITS: Final = 64
# Digits are drawn one by one up to where a geometric number goes with probability exp(-64) at most.
_TAIL: Final = 64
# Draws of one step, by the number of random words they take (1 MB).
_WORDS_AT_ONCE: Final = 2**18


def sample_many(scale: Fraction, n: int, random: RandomSource) -> list[int]:
    """Draw n independent integers z, each with probability proportional to exp(-|z| / scale), exactly.

    scale: sensitivity / epsilon, in the unit of the answer, > 0; any size.

    Raises: ValueError if scale <= 0.
    Source: the difference of two geometric numbers, Ghosh, Roughgarden, Sundararajan 2009, arXiv:0811.2841; their
    independent digits follow from P(G = g) being a product over the digits of g.
    """
    if scale <= 0:
        raise ValueError("the scale of a noise must be above 0")
    coins = _coins(scale)
    at_once = max(1, _WORDS_AT_ONCE // (2 * len(coins)))
    drawn: list[int] = []
    while len(drawn) < n:
        drawn += _laplace(scale, coins, min(at_once, n - len(drawn)), random)
    return drawn


@lru_cache(maxsize=256)
def _coins(scale: Fraction) -> NDArray[np.uint32]:
    """The first 32 bits of each digit's probability, lowest digit first, and of the tail beyond the last digit."""
    digits = 0
    while 2**digits < _TAIL * scale:
        digits += 1
    coins = [digit_threshold(scale, digit, _WORD_BITS) for digit in range(digits)]
    return np.array([*coins, tail_threshold(scale, digits, _WORD_BITS)], dtype=np.uint32)


def _laplace(scale: Fraction, coins: NDArray[np.uint32], n: int, random: RandomSource) -> list[int]:
    digits = len(coins) - 1
    words = np.frombuffer(random.bytes(8 * n * len(coins)), dtype="<u4").reshape(2 * n, len(coins))
    limbs = max(1, -(-digits // _LIMB_BITS))
    # One column more than the limbs need, for the tail, which is taken out before the digits are packed.
    ones = np.zeros((2 * n, limbs * _LIMB_BITS), dtype=np.bool_)
    np.less(words[:, :digits], coins[:digits], out=ones[:, :digits])
    tails = words[:, digits] < coins[digits]
    undecided = words == coins
    if undecided.any():
        for row, coin in np.argwhere(undecided).tolist():
            fell = _refined(scale, coin, digits, random)
            if coin == digits:
                tails[row] = fell
            else:
                ones[row, coin] = fell
    packed = np.packbits(ones, axis=1, bitorder="little").view("<u8")
    if limbs == 1 and digits < _LIMB_BITS - 1 and not tails.any():
        geometric = packed[:, 0].astype(np.int64)
        return list((geometric[:n] - geometric[n:]).tolist())
    exact = [sum(limb << (_LIMB_BITS * place) for place, limb in enumerate(row)) for row in packed.tolist()]
    for row in np.flatnonzero(tails).tolist():
        exact[row] += _beyond(scale, digits, random) << digits
    return [exact[draw] - exact[n + draw] for draw in range(n)]


def _refined(scale: Fraction, coin: int, digits: int, random: RandomSource) -> bool:
    """How a coin falls whose first word was equal to the first 32 bits of its probability."""
    threshold = tail_threshold if coin == digits else digit_threshold
    bits = _WORD_BITS
    while True:
        bits += _REFINE_BITS
        rest = int.from_bytes(random.bytes(_REFINE_BITS // 8), "little")
        # The random number and the probability agree in all bits before these.
        wanted: int = threshold(scale, coin, bits) & (2**_REFINE_BITS - 1)
        if rest != wanted:
            return rest < wanted


def _beyond(scale: Fraction, digits: int, random: RandomSource) -> int:
    """How many times 2**digits goes into a geometric number that is known to reach it once."""
    first_word = tail_threshold(scale, digits, _WORD_BITS)
    times = 1
    while True:
        word = int.from_bytes(random.bytes(_WORD_BITS // 8), "little")
        reached = word < first_word if word != first_word else _refined(scale, digits, digits, random)
        if not reached:
            return times
        times += 1
