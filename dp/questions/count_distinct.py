"""Count of distinct values: how many different values each declared group has."""

from dataclasses import dataclass

from dp.answer import GroupAnswer
from dp.bounding import Bounded
from dp.caps import Caps
from dp.errors import ParameterError
from dp.exact_sum import group_distinct
from dp.grid import Grid
from dp.price import Price
from dp.questions.additive import Additive
from dp.questions.bounded_rows import OfValues
from dp.questions.mechanisms import Mechanisms
from dp.questions.part import Part, part_noises, released
from dp.questions.question import Aggregates, require_grid, require_shape


@dataclass(frozen=True, slots=True)
class CountDistinct(OfValues, Additive):
    """The number of different values in each group, each rounded to the grid and clamped to its bounds first; of each
    unit only the rows that the caps allow are looked at.

    Values that are no numbers come as integers that stand for them: their place in a declared list, or a hash of up to
    62 bits, on Grid(Fraction(1), 0, 2**62). Which values there are is not told.

    Sensitivity c*k (L2: c*sqrt(k)): a unit has at most c rows in each of at most k groups after bounding, no other
    unit's rows change when it is added or removed, and c rows bring at most c values that a group did not have; the
    count of a group never falls when rows are added.

    Raises: ParameterError.
    """

    caps: Caps
    grid: Grid
    n_groups: int = 1

    def __post_init__(self) -> None:
        require_shape(self.caps, self.n_groups)
        require_grid(self.grid)

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("distinct", self.caps.rows, self.caps.groups_in(self.n_groups)),)

    def aggregate(self, bounded: Bounded) -> Aggregates:
        """Raises: ParameterError when the rows were bounded without the grid."""
        if bounded.value is None:
            raise ParameterError("bounded", "it counts values: bound the rows with this question's bound()")
        return Aggregates((group_distinct(bounded.group, bounded.value, self.n_groups),))

    def release(self, aggregates: Aggregates, price: Price, mechanisms: Mechanisms) -> tuple[GroupAnswer, ...]:
        (distinct,), (noise,) = aggregates.totals, part_noises(self.parts, price)
        return released(noise, distinct, mechanisms)
