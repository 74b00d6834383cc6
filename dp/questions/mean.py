"""Mean: the average of the values of each declared group."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dp.answer import GroupAnswer, PartValue
from dp.bounding import Bounded
from dp.caps import Caps
from dp.errors import ParameterError
from dp.exact_sum import group_counts, group_sums
from dp.grid import Grid
from dp.interval import MISS, ratio_ends, ratio_within
from dp.price import Price
from dp.promised_rows import PromisedRows
from dp.questions.additive import Additive
from dp.questions.bounded_rows import OfValues
from dp.questions.mechanisms import Mechanisms
from dp.questions.part import Part, part_noises
from dp.questions.question import Aggregates, require_grid, require_shape

# Bonferroni: each of the two parts may miss half as often as the whole.
_MISS_OF_A_PART: Final = MISS / 2


@dataclass(frozen=True, slots=True)
class Mean(OfValues, Additive):
    """The average of the values in each group, each rounded to the grid and clamped to its bounds first.

    With the mid-point m = floor((l+u)/2) and r = max(u-m, m-l), all in steps, two parts get noise:

    - deviations, the sum of x - m, with epsilon floor(eps/2). Sensitivity c*k*r (L2: c*sqrt(k)*r): a unit has at most
      c rows in each of at most k groups after bounding, no other unit's rows change when it is added or removed, and
      each row adds an integer between l-m and u-m, so at most r from 0, to one group.
    - count, with the rest of epsilon. Sensitivity c*k (L2: c*sqrt(k)), as in Count.

    A Gaussian price is shared alike: floor(rho/2), and the rest.

    The mean is m + deviations/max(1, count), clipped to the bounds: computed from the two noisy integers alone, it
    costs nothing more. An empty group, or a noisy count of 0 or less, answers like any other. The parts that come with
    it are "sum" (deviations + m*count) and "count". Its interval allows each part half of the misses (Bonferroni), so
    it is conservative, and lies inside the bounds; about an empty group it says nothing, since there is no mean.

    Bounds that are equal are refused, whatever the data: the mean is that bound.

    Raises: ParameterError.
    """

    caps: Caps
    grid: Grid
    n_groups: int = 1

    def __post_init__(self) -> None:
        require_shape(self.caps, self.n_groups)
        require_grid(self.grid)
        if self.grid.lower == self.grid.upper:
            raise ParameterError("bounds", "between equal bounds every mean is that bound; declare wider ones")

    @property
    def middle(self) -> int:
        """The mid-point of the bounds, in steps, rounded down."""
        return (self.grid.lower + self.grid.upper) // 2

    @property
    def parts(self) -> tuple[Part, ...]:
        rows, k = self.caps.rows, self.caps.groups_in(self.n_groups)
        reach = max(self.grid.upper - self.middle, self.middle - self.grid.lower)
        return (Part("deviations", rows * reach, k, self.grid.step), Part("count", rows, k))

    def aggregate(self, bounded: Bounded) -> Aggregates:
        """Raises: ParameterError when the rows were bounded without the grid."""
        if bounded.value is None:
            raise ParameterError("bounded", "a mean is of values: bound the rows with this question's bound()")
        counts = group_counts(bounded.group, self.n_groups)
        return self._centred(group_sums(bounded.group, bounded.value, self.n_groups, self.grid.reach), counts)

    def aggregate_promised(self, rows: PromisedRows) -> Aggregates:
        """As aggregate(), of rows that are within the caps by the caller's promise. Raises: ParameterError."""
        return self._centred(*rows.totals(self.grid, self.n_groups, counted=True))

    def _centred(self, sums: tuple[int, ...], counts: tuple[int, ...]) -> Aggregates:
        deviations = tuple(total - self.middle * count for total, count in zip(sums, counts, strict=True))
        return Aggregates((deviations, counts))

    def release(self, aggregates: Aggregates, price: Price, mechanisms: Mechanisms) -> tuple[GroupAnswer, ...]:
        of_deviations, of_count = part_noises(self.parts, price)
        deviations = of_deviations.add(aggregates.totals[0], mechanisms)
        counts = of_count.add(aggregates.totals[1], mechanisms)
        # Integers up to the last line: with Fractions before it a thousand groups take several times as long.
        middle, times, over = self.middle, self.grid.step.numerator, self.grid.step.denominator
        span = (self.grid.lower - middle, self.grid.upper - middle)
        reach, reach_of_count = of_deviations.reach(_MISS_OF_A_PART), of_count.reach(_MISS_OF_A_PART)

        def centred(offset: int, rows: int) -> Fraction:
            return Fraction((middle * rows + offset) * times, rows * over)

        answers = []
        for group, (deviation, count) in enumerate(zip(deviations, counts, strict=True)):
            rows = max(1, count)
            low, high = ratio_ends(
                (deviation - reach, deviation + reach), (count - reach_of_count, count + reach_of_count), span
            )
            total = Fraction((deviation + middle * count) * times, over)
            answers.append(
                GroupAnswer(
                    group,
                    centred(ratio_within(deviation, rows, span), rows),
                    (centred(*low), centred(*high)),
                    (PartValue("sum", total), PartValue("count", Fraction(count))),
                )
            )
        return tuple(answers)
