"""A law: with which probability each integer is drawn, as floats; written down again, not taken from the samplers."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import exp
from typing import Final, Self

from dp.selftest.chi_squared import Fit, fit

_CELLS: Final = 40
# So many draws are expected beyond the last cell on either side.
_TAIL: Final = 10


@dataclass(frozen=True, slots=True)
class Law:
    """masses: of `lowest` and the integers after it; what lies beyond counts as the last on that side."""

    lowest: int
    masses: tuple[float, ...]

    @classmethod
    def laplace(cls, scale: float) -> Self:
        """In proportion to exp(-|z| / scale)."""
        return cls._even(int(40 * scale) + 1, lambda z: exp(-z / scale))

    @classmethod
    def gaussian(cls, sigma: float) -> Self:
        """In proportion to exp(-z**2 / (2 * sigma**2))."""
        return cls._even(int(9 * sigma) + 2, lambda z: exp(-z * z / (2 * sigma * sigma)))

    @classmethod
    def choice(cls, scores: Sequence[int], exponent: float) -> Self:
        """Of who wins permute-and-flip: p_r times the integral from 0 to 1 of the others' product of 1 - p_s * t."""
        best = max(scores)
        heads = [exp(-exponent * (best - score)) for score in scores]
        wins = []
        for winner, p in enumerate(heads):
            coefficients = [1.0]
            for other in (head for index, head in enumerate(heads) if index != winner):
                shifted = [0.0, *(-other * c for c in coefficients)]
                coefficients = [a + b for a, b in zip([*coefficients, 0.0], shifted, strict=True)]
            wins.append(p * sum(c / (power + 1) for power, c in enumerate(coefficients)))
        return cls(0, tuple(wins))

    @classmethod
    def told(cls, truth: int, categories: int, epsilon: float) -> Self:
        """Of randomized response: the truth is exp(epsilon) times as likely as each other category."""
        shares = [exp(epsilon) if category == truth else 1.0 for category in range(categories)]
        return cls(0, tuple(share / sum(shares) for share in shares))

    @classmethod
    def _even(cls, reach: int, share: Callable[[int], float]) -> Self:
        half = [share(z) for z in range(reach + 1)]
        whole = 2 * sum(half) - half[0]
        return cls(-reach, tuple(share / whole for share in [*half[:0:-1], *half]))

    def fit(self, draws: Sequence[int]) -> Fit:
        """Of these draws, in cells of about the same probability and a small one at either end."""
        sums = list(accumulate(self.masses))
        rare = _TAIL / max(len(draws), 1)
        levels = sorted({rare, *(cell / _CELLS for cell in range(1, _CELLS)), 1 - rare})
        ends = sorted({min(bisect_left(sums, level), len(sums) - 1) for level in levels} | {len(sums) - 1})
        at = [0.0, *(sums[end] for end in ends)]
        observed = [0] * len(ends)
        for draw in draws:
            place = min(max(draw - self.lowest, 0), len(sums) - 1)
            observed[bisect_left(ends, place)] += 1
        return fit(observed, [high - low for low, high in pairwise(at)])
