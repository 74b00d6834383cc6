"""Sum: what the values of each declared group add up to."""

from collections.abc import Iterable
from dataclasses import dataclass

from dp.answer import GroupAnswer, NoiseScale
from dp.bounding import Bounded, Caps, bound, bound_part
from dp.chunk import Chunk
from dp.errors import ParameterError
from dp.exact_sum import group_sums
from dp.grid import Grid
from dp.interval import around
from dp.noise.random_source import RandomSource
from dp.partial import Partial
from dp.price import Price, require_pure
from dp.questions.question import Aggregates, noisy_parts, require_grid, require_shape, scales


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of the values in each group, each rounded to the grid and clamped to its bounds first.

    Sensitivity c*k*max(|l|, |u|), in steps: a unit has at most c rows in each of at most k groups after bounding, no
    other unit's rows change when it is added or removed, and each row adds an integer between l and u to one group.
    The sums are exact integers, so nothing is added for rounding.

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

    def sensitivity(self) -> tuple[int, ...]:
        return (self.caps.rows_in(self.n_groups) * self.grid.reach,)

    def parts(self, price: Price) -> tuple[Price, ...]:
        return (Price.pure(require_pure(price)),)

    def noise(self, price: Price) -> tuple[NoiseScale, ...]:
        return (NoiseScale("sum", scales(self, price)[0] * self.grid.step, require_pure(price)),)

    def bound(self, chunks: Iterable[Chunk | Partial], salt: bytes) -> Bounded:
        return bound(chunks, self.caps, salt, n_groups=self.n_groups, grid=self.grid)

    def part(self, chunks: Iterable[Chunk], salt: bytes) -> Partial:
        return bound_part(chunks, self.caps, salt, n_groups=self.n_groups, grid=self.grid)

    def aggregate(self, bounded: Bounded) -> Aggregates:
        """Raises: ParameterError when the rows were bounded without the grid."""
        if bounded.value is None:
            raise ParameterError("bounded", "a sum is of values: bound the rows with this question's bound()")
        return Aggregates((group_sums(bounded.group, bounded.value, self.n_groups, self.grid.reach),))

    def release(self, aggregates: Aggregates, price: Price, random: RandomSource) -> tuple[GroupAnswer, ...]:
        (scale,) = scales(self, price)
        (sums,) = noisy_parts(self, aggregates, price, random)
        step = self.grid.step
        return tuple(
            GroupAnswer(group, total * step, (low * step, high * step))
            for group, total in enumerate(sums)
            for low, high in (around(total, scale),)
        )
