"""Quantiles: the value below which a declared share of each group's rows lies, for one share or several."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from dp.answer import RANK_LABEL, GroupAnswer, NoiseScale
from dp.bounding import Bounded, bound, bound_part
from dp.caps import Caps
from dp.chunk import Chunk
from dp.errors import ParameterError
from dp.grid import Exact, Grid, exact
from dp.interval import choice_half_width
from dp.nano import NANO
from dp.partial import Partial
from dp.price import Price, require_pure
from dp.questions.mechanisms import Mechanisms
from dp.questions.part import PERMUTE_AND_FLIP, shares
from dp.questions.question import Aggregates, require_grid, require_shape

MEDIAN: Final = Fraction(1, 2)
# In place of the smallest and the largest value, each of which is somebody's: those are answered badly or not at all.
LOW: Final = Fraction(1, 20)
HIGH: Final = Fraction(19, 20)
# Ours: more candidates cost time, and none of them is better by more than 1/2**16 of the span of the bounds.
MAX_CANDIDATES: Final = 2**16
# Ours: so that a score, a number of rows times this, fits 64 bits.
MAX_DENOMINATOR: Final = 10_000


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ordered(Aggregates):
    """The values of each group in ascending order, in steps; the totals are how many there are."""

    values: tuple[NDArray[np.int64], ...]


@dataclass(frozen=True, slots=True)
class Quantiles:
    """For each declared fraction p/q a grid point with about p/q of the group's rows below it.

    Values are rounded to the grid and clamped to its bounds first. The candidates are the points of the grid from the
    lower bound to the upper one, or every f-th of them when there are more than 2**16, with the smallest f that leaves
    no more. A candidate's score is -max(0, q * #below - p * #rows, q * #above - (q-p) * #rows), in integers: by how
    many rows, times q, too many lie below it or above it. It is 0 for a quantile, also where many rows share a value.
    One candidate is chosen by permute-and-flip.

    Sensitivity of a group's scores c*max(p, q-p): a unit has at most c rows in it after bounding, no other unit's rows
    change when it is added or removed, and a row moves the first term by q-p or -p, the second by p or p-q. Scores go
    up and down with it (they are not monotone), so a choice with exponent eps_group / (2 * sensitivity) costs
    eps_group. A unit is in at most k groups, each of which gets eps_group = eps/k; the choices of the other groups stay
    the same.
    Several fractions share epsilon: floor(eps/n) each, the rest to the last.

    The scale that is told is 1/exponent in rows, 2*c*k*max(p, q-p) / (q*eps): in 95 of 100 answers the choice is at
    most scale * ln(20 * (candidates - 1)) rows of rank worse than the best candidate. The interval says so, around the
    rank 0 that was asked for: it is of ranks, not of values, since which values lie there is not known. Answers come by
    group and, within it, by fraction; several of one group need not be in ascending order.

    Raises: ParameterError. 0 and 1 are no quantiles: ask for LOW and HIGH. Bounds that are equal are refused, whatever
    the data: every quantile is that bound.
    """

    caps: Caps
    grid: Grid
    fractions: tuple[Fraction, ...] = (MEDIAN,)
    by_groups: int = 1

    def __post_init__(self) -> None:
        require_shape(self.caps, self.by_groups)
        require_grid(self.grid)
        if type(self.fractions) is not tuple or not self.fractions or len(set(self.fractions)) < len(self.fractions):
            raise ParameterError("fractions", "declare one or more, each once, such as (Fraction(1, 2),)")
        for fraction in self.fractions:
            if type(fraction) is not Fraction or not 0 < fraction < 1:
                raise ParameterError(
                    "fractions", "a quantile is between 0 and 1; for the smallest and largest ask for 0.05 and 0.95"
                )
            if fraction.denominator > MAX_DENOMINATOR:
                raise ParameterError("fractions", "it is finer than 1/10000; declare it with at most four decimals")
        require_shape(self.caps, self.n_groups)
        if self.grid.lower == self.grid.upper:
            raise ParameterError("bounds", "between equal bounds every quantile is that bound; declare wider ones")

    @classmethod
    def of(cls, caps: Caps, grid: Grid, fractions: Sequence[Exact], by_groups: int = 1) -> Self:
        """With fractions as text, such as ("0.25", "0.5", "0.75"). Raises: ParameterError."""
        return cls(caps, grid, tuple(exact("fractions", fraction) for fraction in fractions), by_groups)

    @property
    def n_groups(self) -> int:
        """Quantiles of all groups together."""
        return self.by_groups * len(self.fractions)

    @property
    def interval_label(self) -> str:
        return RANK_LABEL

    @property
    def candidates(self) -> NDArray[np.int64]:
        """In steps, from public parameters alone."""
        span = self.grid.upper - self.grid.lower
        factor = max(1, -(-span // (MAX_CANDIDATES - 1)))
        return self.grid.lower + factor * np.arange(span // factor + 1, dtype=np.int64)

    def sensitivity(self, fraction: Fraction) -> int:
        """How far one unit moves each score of one group."""
        return self.caps.rows * max(fraction.numerator, fraction.denominator - fraction.numerator)

    def exponents(self, price: Price) -> tuple[Fraction, ...]:
        """Of each fraction's choices. Raises: ParameterError."""
        require_pure(price)
        k = self.caps.groups_in(self.by_groups)
        return tuple(
            Fraction(require_pure(share), NANO * 2 * self.sensitivity(fraction) * k)
            for fraction, share in zip(self.fractions, shares(price, len(self.fractions)), strict=True)
        )

    def mechanism(self, price: Price) -> str:
        require_pure(price)
        return PERMUTE_AND_FLIP

    def noise(self, price: Price) -> tuple[NoiseScale, ...]:
        told = zip(self.fractions, self.exponents(price), shares(price, len(self.fractions)), strict=True)
        return tuple(
            NoiseScale(f"quantile {fraction}", 1 / (exponent * fraction.denominator), share.nano_epsilon)
            for fraction, exponent, share in told
        )

    def bound(self, chunks: Iterable[Chunk | Partial], salt: bytes) -> Bounded:
        return bound(chunks, self.caps, salt, n_groups=self.by_groups, grid=self.grid)

    def part(self, chunks: Iterable[Chunk], salt: bytes) -> Partial:
        return bound_part(chunks, self.caps, salt, n_groups=self.by_groups, grid=self.grid)

    def aggregate(self, bounded: Bounded) -> Ordered:
        """Raises: ParameterError when the rows were bounded without the grid."""
        if bounded.value is None:
            raise ParameterError("bounded", "a quantile is of values: bound the rows with this question's bound()")
        order = np.lexsort((bounded.value, bounded.group))
        ends = np.cumsum(np.bincount(bounded.group, minlength=self.by_groups))
        values = tuple(np.split(bounded.value[order], ends[:-1]))
        return Ordered((tuple(map(len, values)),), values)

    def scores(self, values: NDArray[np.int64], fraction: Fraction) -> NDArray[np.int64]:
        """Of each candidate. values: ascending."""
        p, q, candidates, rows = fraction.numerator, fraction.denominator, self.candidates, len(values)
        below = np.searchsorted(values, candidates, side="left").astype(np.int64)
        above = rows - np.searchsorted(values, candidates, side="right").astype(np.int64)
        scores: NDArray[np.int64] = np.minimum(0, np.minimum(p * rows - q * below, (q - p) * rows - q * above))
        return scores

    def release(self, aggregates: Aggregates, price: Price, mechanisms: Mechanisms) -> tuple[GroupAnswer, ...]:
        """Raises: ParameterError for the totals of another question."""
        if not isinstance(aggregates, Ordered):
            raise ParameterError("aggregates", "a quantile is of ordered values: make them with this aggregate()")
        candidates, exponents, answers = self.candidates, self.exponents(price), list[GroupAnswer]()
        reaches = [choice_half_width(noise.scale, len(candidates)) for noise in self.noise(price)]
        for values in aggregates.values:
            for fraction, exponent, reach in zip(self.fractions, exponents, reaches, strict=True):
                chosen = candidates[mechanisms.best(self.scores(values, fraction), exponent)]
                interval = (Fraction(-reach), Fraction(reach))
                answers.append(GroupAnswer(len(answers), int(chosen) * self.grid.step, interval))
        return tuple(answers)
