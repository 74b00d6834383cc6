"""Histogram: how many rows of each declared group have a value between each two neighbouring edges."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np

from dp.answer import GroupAnswer
from dp.bounding import Bounded, bound, bound_part
from dp.caps import Caps
from dp.chunk import Chunk
from dp.errors import ParameterError
from dp.exact_sum import group_counts
from dp.grid import Exact, Grid
from dp.partial import Partial
from dp.price import Price
from dp.questions.additive import Additive
from dp.questions.mechanisms import Mechanisms
from dp.questions.part import Part, part_noises, released
from dp.questions.question import Aggregates, require_grid, require_shape


@dataclass(frozen=True, slots=True)
class Histogram(Additive):
    """The number of rows in each bin of each group. A bin has the values from one edge up to, and without, the next;
    the last bin has its upper edge too. Values are rounded to the grid and clamped to its bounds first, so all of
    those beyond a bound count where the bound lies; a bound beyond the edges is in no bin.

    edges: declared, in steps, ascending. Answers come by group and, within it, by bin: bin b of group g is number
    g * n_bins + b. A bin of a group is a group like any other, of which the caps allow a unit k.

    Sensitivity c*k (L2: c*sqrt(k)): a unit has at most c rows in each of at most k bins after bounding, no other unit's
    rows change when it is added or removed, and each row adds 1 to one bin. In which bin a row is depends on its value,
    so bins are made before anything is bounded.

    Raises: ParameterError.
    """

    caps: Caps
    grid: Grid
    edges: tuple[int, ...]
    by_groups: int = 1

    def __post_init__(self) -> None:
        require_grid(self.grid)
        if len(self.edges) < 2 or any(type(edge) is not int or abs(edge) > 2**62 for edge in self.edges):
            raise ParameterError("edges", "declare two or more, each a multiple of the step and within 2**62 of them")
        if any(low >= high for low, high in pairwise(self.edges)):
            raise ParameterError("edges", "declare them in ascending order, each once")
        require_shape(self.caps, self.by_groups)
        require_shape(self.caps, self.n_groups)

    @classmethod
    def of(cls, caps: Caps, grid: Grid, edges: Sequence[Exact], by_groups: int = 1) -> Self:
        """With edges in the unit of the values. Raises: ParameterError where one is no multiple of the step."""
        require_grid(grid)
        return cls(caps, grid, tuple(grid.steps("edges", edge) for edge in edges), by_groups)

    @property
    def n_bins(self) -> int:
        return len(self.edges) - 1

    @property
    def n_groups(self) -> int:
        """Bins of all groups together."""
        return self.by_groups * self.n_bins

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("count", self.caps.rows, self.caps.groups_in(self.n_groups)),)

    def bound(self, chunks: Iterable[Chunk | Partial], salt: bytes) -> Bounded:
        binned = (rows if isinstance(rows, Partial) else self._binned(rows) for rows in chunks)
        return bound(binned, self.caps, salt, n_groups=self.n_groups)

    def part(self, chunks: Iterable[Chunk], salt: bytes) -> Partial:
        return bound_part(map(self._binned, chunks), self.caps, salt, n_groups=self.n_groups)

    def aggregate(self, bounded: Bounded) -> Aggregates:
        return Aggregates((group_counts(bounded.group, self.n_groups),))

    def release(self, aggregates: Aggregates, price: Price, mechanisms: Mechanisms) -> tuple[GroupAnswer, ...]:
        (counts,), (noise,) = aggregates.totals, part_noises(self.parts, price)
        return released(noise, counts, mechanisms)

    def _binned(self, chunk: Chunk) -> Partial:
        """Each row in the group that is its bin; those of no bin are gone, and so are the values."""
        rows = Partial.of(chunk, self.by_groups, self.grid)
        value = np.empty(0, dtype=np.int64) if rows.value is None else rows.value  # with a grid there are values
        edges = np.array(self.edges, dtype=np.int64)
        bins = np.searchsorted(edges, value, side="right") - 1
        bins[value == edges[-1]] = self.n_bins - 1
        return rows.in_groups(rows.group * self.n_bins + bins, (bins >= 0) & (bins < self.n_bins))
