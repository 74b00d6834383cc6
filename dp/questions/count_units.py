"""Count of units: how many privacy units each declared group has."""

from dataclasses import dataclass

from dp.answer import GroupAnswer
from dp.bounding import Bounded
from dp.caps import Caps
from dp.errors import ParameterError
from dp.exact_sum import group_counts
from dp.price import Price
from dp.questions.additive import Additive
from dp.questions.bounded_rows import OfRows
from dp.questions.mechanisms import Mechanisms
from dp.questions.part import Part, part_noises, released
from dp.questions.question import Aggregates, require_shape


@dataclass(frozen=True, slots=True)
class CountUnits(OfRows, Additive):
    """The number of units that have a row in each group: of each unit one row a group is kept, and counted.

    Sensitivity k (L2: sqrt(k)): a unit counts once in each of at most k groups after bounding, and no other unit's rows
    change when it is added or removed.

    Raises: ParameterError, also for caps of more than one row.
    """

    caps: Caps
    n_groups: int = 1

    def __post_init__(self) -> None:
        require_shape(self.caps, self.n_groups)
        require_one_row(self.caps)

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("units", 1, self.caps.groups_in(self.n_groups)),)

    def aggregate(self, bounded: Bounded) -> Aggregates:
        return Aggregates((group_counts(bounded.group, self.n_groups),))

    def release(self, aggregates: Aggregates, price: Price, mechanisms: Mechanisms) -> tuple[GroupAnswer, ...]:
        (units,), (noise,) = aggregates.totals, part_noises(self.parts, price)
        return released(noise, units, mechanisms)


def require_one_row(caps: Caps) -> None:
    """Raises: ParameterError unless a unit counts once a group."""
    if caps.rows != 1:
        raise ParameterError("caps.rows", "units are counted once a group; write Caps(1, groups)")
