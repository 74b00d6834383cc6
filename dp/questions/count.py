"""Count: how many rows each declared group has."""

from collections.abc import Iterable
from dataclasses import dataclass

from dp.answer import INTERVAL_LABEL, GroupAnswer, NoiseScale
from dp.bounding import Bounded, Caps, bound, bound_part
from dp.chunk import Chunk
from dp.exact_sum import group_counts
from dp.partial import Partial
from dp.price import Price
from dp.questions.mechanisms import Mechanisms
from dp.questions.part import Part, mechanism_of, part_noises, released
from dp.questions.question import Aggregates, require_shape


@dataclass(frozen=True, slots=True)
class Count:
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
    def interval_label(self) -> str:
        return INTERVAL_LABEL

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("count", self.caps.rows, self.caps.groups_in(self.n_groups)),)

    def mechanism(self, price: Price) -> str:
        return mechanism_of(price)

    def noise(self, price: Price) -> tuple[NoiseScale, ...]:
        return tuple(noise.told() for noise in part_noises(self.parts, price))

    def bound(self, chunks: Iterable[Chunk | Partial], salt: bytes) -> Bounded:
        return bound(chunks, self.caps, salt, n_groups=self.n_groups)

    def part(self, chunks: Iterable[Chunk], salt: bytes) -> Partial:
        return bound_part(chunks, self.caps, salt, n_groups=self.n_groups)

    def aggregate(self, bounded: Bounded) -> Aggregates:
        return Aggregates((group_counts(bounded.group, self.n_groups),))

    def release(self, aggregates: Aggregates, price: Price, mechanisms: Mechanisms) -> tuple[GroupAnswer, ...]:
        (counts,), (noise,) = aggregates.totals, part_noises(self.parts, price)
        return released(noise, counts, mechanisms)
