"""Sum: what the values of each declared group add up to."""

from dataclasses import dataclass

from dp.answer import GroupAnswer
from dp.bounding import Bounded
from dp.caps import Caps
from dp.errors import ParameterError
from dp.exact_sum import group_sums
from dp.grid import Grid
from dp.price import Price
from dp.promised_rows import PromisedRows
from dp.questions.additive import Additive
from dp.questions.bounded_rows import OfValues
from dp.questions.mechanisms import Mechanisms
from dp.questions.part import Part, part_noises, released
from dp.questions.question import Aggregates, require_grid, require_shape


@dataclass(frozen=True, slots=True)
class Sum(OfValues, Additive):
    """The sum of the values in each group, each rounded to the grid and clamped to its bounds first.

    Sensitivity c*k*max(|l|, |u|), in steps (L2: c*sqrt(k)*max(|l|, |u|)): a unit has at most c rows in each of at most
    k groups after bounding, no other unit's rows change when it is added or removed, and each row adds an integer
    between l and u to one group. The sums are exact integers, so nothing is added for rounding.

    Bounds (0, 0) are refused, whatever the data: the sum is 0. Bounds (5, 5) are five times a count, and answered.

    Raises: ParameterError.
    """

    caps: Caps
    grid: Grid
    n_groups: int = 1

    def __post_init__(self) -> None:
        require_shape(self.caps, self.n_groups)
        require_grid(self.grid)
        if self.grid.reach == 0:
            raise ParameterError("bounds", "between 0 and 0 every sum is 0; declare bounds that values can differ in")

    @property
    def parts(self) -> tuple[Part, ...]:
        k = self.caps.groups_in(self.n_groups)
        return (Part("sum", self.caps.rows * self.grid.reach, k, self.grid.step),)

    def aggregate(self, bounded: Bounded) -> Aggregates:
        """Raises: ParameterError when the rows were bounded without the grid."""
        if bounded.value is None:
            raise ParameterError("bounded", "a sum is of values: bound the rows with this question's bound()")
        return Aggregates((group_sums(bounded.group, bounded.value, self.n_groups, self.grid.reach),))

    def aggregate_promised(self, rows: PromisedRows) -> Aggregates:
        """As aggregate(), of rows that are within the caps by the caller's promise. Raises: ParameterError."""
        sums, _ = rows.totals(self.grid, self.n_groups, counted=False)
        return Aggregates((sums,))

    def release(self, aggregates: Aggregates, price: Price, mechanisms: Mechanisms) -> tuple[GroupAnswer, ...]:
        (sums,), (noise,) = aggregates.totals, part_noises(self.parts, price)
        return released(noise, sums, mechanisms)
