"""Count: how many rows each declared group has."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from dp.answer import GroupAnswer, NoiseScale
from dp.bounding import Bounded, Caps, bound, bound_part
from dp.chunk import Chunk
from dp.exact_sum import group_counts
from dp.interval import around
from dp.noise.random_source import RandomSource
from dp.partial import Partial
from dp.price import Price, require_pure
from dp.questions.question import Aggregates, noisy_parts, require_shape, scales


@dataclass(frozen=True, slots=True)
class Count:
    """The number of rows in each group. Values are not looked at; a noisy count may be negative.

    Sensitivity c*k: a unit has at most c rows in each of at most k groups after bounding, no other unit's rows change
    when it is added or removed, and each row adds 1 to one group; summed over the groups that is c*k.

    Raises: ParameterError.
    """

    caps: Caps
    n_groups: int = 1

    def __post_init__(self) -> None:
        require_shape(self.caps, self.n_groups)

    def sensitivity(self) -> tuple[int, ...]:
        return (self.caps.rows_in(self.n_groups),)

    def parts(self, price: Price) -> tuple[Price, ...]:
        return (Price.pure(require_pure(price)),)

    def noise(self, price: Price) -> tuple[NoiseScale, ...]:
        return (NoiseScale("count", scales(self, price)[0], require_pure(price)),)

    def bound(self, chunks: Iterable[Chunk | Partial], salt: bytes) -> Bounded:
        return bound(chunks, self.caps, salt, n_groups=self.n_groups)

    def part(self, chunks: Iterable[Chunk], salt: bytes) -> Partial:
        return bound_part(chunks, self.caps, salt, n_groups=self.n_groups)

    def aggregate(self, bounded: Bounded) -> Aggregates:
        return Aggregates((group_counts(bounded.group, self.n_groups),))

    def release(self, aggregates: Aggregates, price: Price, random: RandomSource) -> tuple[GroupAnswer, ...]:
        (scale,) = scales(self, price)
        (counts,) = noisy_parts(self, aggregates, price, random)
        return tuple(
            GroupAnswer(group, Fraction(count), (Fraction(low), Fraction(high)))
            for group, count in enumerate(counts)
            for low, high in (around(count, scale),)
        )
