"""Choosing: the exact probabilities with which permute-and-flip chooses, by adding up every way that coins can fall."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import exp


def probabilities(scores: Sequence[int], exponent: float) -> list[float]:
    """Of each candidate, for a few of them: all ways that the coins fall, and a fair draw among the heads."""
    best = max(scores)
    heads = [exp(-exponent * (best - score)) for score in scores]
    wins = [0.0] * len(scores)
    for falls in product((True, False), repeat=len(scores)):
        likely = 1.0
        for p, fell in zip(heads, falls, strict=True):
            likely *= p if fell else 1 - p
        if likely:
            for index, fell in enumerate(falls):
                wins[index] += likely * fell / sum(falls)
    return wins


def probabilities_in_order(heads: Sequence[Fraction]) -> list[Fraction]:
    """Of each candidate, as the algorithm is published: one after the other in random order, the first head wins."""
    wins = [Fraction(0)] * len(heads)

    def go_on(left: list[int], reached: Fraction) -> None:
        for index in left:
            wins[index] += reached / len(left) * heads[index]
            if heads[index] < 1:
                go_on([other for other in left if other != index], reached / len(left) * (1 - heads[index]))

    go_on(list(range(len(heads))), Fraction(1))
    return wins
