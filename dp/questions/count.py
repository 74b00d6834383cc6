"""Count: how many rows each declared group has."""

from dataclasses import dataclass

from dp.answer import GroupAnswer
from dp.bounding import Bounded
from dp.caps import Caps
from dp.exact_sum import group_counts
from dp.price import Price
from dp.questions.additive import Additive
from dp.questions.bounded_rows import OfRows
from dp.questions.mechanisms import Mechanisms
from dp.questions.part import Part, part_noises, released
from dp.questions.question import Aggregates, require_shape


@dataclass(frozen=True, slots=True)
class Count(OfRows, Additive):
    """The number of rows in each group. Values are not looked at; a noisy count may be negative.

    Sensitivity c*k (L2: c*sqrt(k)): a unit has at most c rows in each of at most k groups after bounding, no other
    unit's rows change when it is added or removed, and each row adds 1 to one group. So a unit moves each of k counts
    by c at most; summed over the groups that is c*k, and the root of the sum of squares is c*sqrt(k).

    Raises: ParameterError.
    """

    caps: Caps
    n_groups: int = 1

    def __post_init__(self) -> None:
        require_shape(self.caps, self.n_groups)

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("count", self.caps.rows, self.caps.groups_in(self.n_groups)),)

    def aggregate(self, bounded: Bounded) -> Aggregates:
        return Aggregates((group_counts(bounded.group, self.n_groups),))

    def release(self, aggregates: Aggregates, price: Price, mechanisms: Mechanisms) -> tuple[GroupAnswer, ...]:
        (counts,), (noise,) = aggregates.totals, part_noises(self.parts, price)
        return released(noise, counts, mechanisms)
