"""Variance: how far the values of each declared group lie from their mean, squared, on average."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from dp.answer import GroupAnswer, PartValue
from dp.bounding import Bounded
from dp.caps import Caps
from dp.errors import ParameterError
from dp.exact_sum import group_counts, group_squares, group_sums
from dp.grid import Grid
from dp.interval import MISS, ratio_interval
from dp.price import Price
from dp.questions.additive import Additive
from dp.questions.bounded_rows import OfValues
from dp.questions.mechanisms import Mechanisms
from dp.questions.part import Part, part_noises
from dp.questions.question import Aggregates, require_grid, require_shape

# Bonferroni: each of the three parts may miss a third as often as the whole.
_MISS_OF_A_PART: Final = MISS / 3


@dataclass(frozen=True, slots=True)
class Variance(OfValues, Additive):
    """The mean of the squared distance from the mean (SQL's VAR_POP) of the values in each group, each rounded to the
    grid and clamped to its bounds first.

    With the mid-point m = floor((l+u)/2) and r = max(u-m, m-l), all in steps, three parts get noise. Of each a unit
    moves at most k groups, by at most c rows: as in Count, and no other unit's rows change.

    - deviations, the sum of x - m, with epsilon floor(eps/3). Sensitivity c*k*r (L2: c*sqrt(k)*r), as in Mean.
    - squares, the sum of (x - m)**2 - floor(r**2/2), with epsilon floor(eps/3). Sensitivity c*k*ceil(r**2/2) (L2:
      c*sqrt(k)*ceil(r**2/2)): the square lies between 0 and r**2, so what a row adds lies between -floor(r**2/2) and
      ceil(r**2/2).
    - count, with the rest of epsilon. Sensitivity c*k (L2: c*sqrt(k)), as in Count.

    A Gaussian price is shared alike. With N = max(1, count) the variance is squares/N + floor(r**2/2), clipped to
    between 0 and r**2, less the square of deviations/N, clipped to between l-m and u-m; the whole clipped to between 0
    and ((u-l)/2)**2, which no variance within the bounds exceeds. Computed from the three noisy integers alone, it
    costs nothing more, and an empty group answers like any other. The parts that come with it are "sum" of x, "sum of
    squares" of x, and "count". Its interval allows each part a third of the misses (Bonferroni), so it is conservative;
    about an empty group it says nothing.

    Bounds that are equal are refused, whatever the data: the variance is 0.

    Raises: ParameterError.
    """

    caps: Caps
    grid: Grid
    n_groups: int = 1

    def __post_init__(self) -> None:
        require_shape(self.caps, self.n_groups)
        require_grid(self.grid)
        if self.grid.lower == self.grid.upper:
            raise ParameterError("bounds", "between equal bounds every variance is 0; declare wider ones")

    @property
    def middle(self) -> int:
        """The mid-point of the bounds, in steps, rounded down."""
        return (self.grid.lower + self.grid.upper) // 2

    @property
    def reach(self) -> int:
        """The most that a value can lie from the middle, in steps."""
        return max(self.grid.upper - self.middle, self.middle - self.grid.lower)

    @property
    def parts(self) -> tuple[Part, ...]:
        rows, k, step = self.caps.rows, self.caps.groups_in(self.n_groups), self.grid.step
        return (
            Part("deviations", rows * self.reach, k, step),
            Part("squares", rows * -(-(self.reach**2) // 2), k, step**2),
            Part("count", rows, k),
        )

    def aggregate(self, bounded: Bounded) -> Aggregates:
        """Raises: ParameterError when the rows were bounded without the grid."""
        if bounded.value is None:
            raise ParameterError("bounded", "a variance is of values: bound the rows with this question's bound()")
        counts = group_counts(bounded.group, self.n_groups)
        deviation = bounded.value - np.int64(self.middle)
        sums = group_sums(bounded.group, deviation, self.n_groups, self.reach)
        squares = group_squares(bounded.group, deviation, self.n_groups, self.reach)
        half = self.reach**2 // 2
        return Aggregates((sums, tuple(a - half * n for a, n in zip(squares, counts, strict=True)), counts))

    def release(self, aggregates: Aggregates, price: Price, mechanisms: Mechanisms) -> tuple[GroupAnswer, ...]:
        noises = part_noises(self.parts, price)
        noisy = [noise.add(totals, mechanisms) for noise, totals in zip(noises, aggregates.totals, strict=True)]
        answers = []
        for group, of_group in enumerate(zip(*noisy, strict=True)):
            around = [noise.around(part, _MISS_OF_A_PART) for noise, part in zip(noises, of_group, strict=True)]
            deviations, squares, count = ((part, part) for part in of_group)
            value, _ = self._within(deviations, squares, (max(1, count[0]),) * 2)
            low, high = self._within(*around)
            unit = self.grid.step**2
            answers.append(GroupAnswer(group, value * unit, (low * unit, high * unit), self._told(*of_group)))
        return tuple(answers)

    def _within(
        self, deviations: tuple[int, int], squares: tuple[int, int], count: tuple[int, int]
    ) -> tuple[Fraction, Fraction]:
        """Between what the variance lies, in steps squared, when its parts lie between these."""
        half, low, high = self.reach**2 // 2, self.grid.lower, self.grid.upper
        d = ratio_interval(deviations, count, (low - self.middle, high - self.middle))
        q = ratio_interval(squares, count, (-half, self.reach**2 - half))
        nearest = 0 if d[0] <= 0 <= d[1] else min(d[0] ** 2, d[1] ** 2)
        most = Fraction((high - low) ** 2, 4)
        least, greatest = q[0] + half - max(d[0] ** 2, d[1] ** 2), q[1] + half - nearest
        return min(max(least, Fraction(0)), most), max(min(greatest, most), Fraction(0))

    def _told(self, deviations: int, squares: int, count: int) -> tuple[PartValue, ...]:
        """The noisy sums of x and of its square, without the middle; from the noisy integers, so for nothing."""
        m, step = self.middle, self.grid.step
        of_squares = squares + self.reach**2 // 2 * count + 2 * m * deviations + m**2 * count
        return (
            PartValue("sum", (deviations + m * count) * step),
            PartValue("sum of squares", of_squares * step**2),
            PartValue("count", Fraction(count)),
        )
