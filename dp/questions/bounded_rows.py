"""Bounded rows: how a question of declared groups gets the rows that count, all at once or part by part."""

from collections.abc import Iterable
from typing import Protocol

from dp.bounding import Bounded, bound, bound_part
from dp.caps import Caps
from dp.chunk import Chunk
from dp.grid import Grid
from dp.partial import Partial

__all__ = ["OfRows", "OfValues"]


class _OfGroups(Protocol):
    @property
    def caps(self) -> Caps: ...

    @property
    def n_groups(self) -> int: ...


class _OnGrid(_OfGroups, Protocol):
    @property
    def grid(self) -> Grid: ...


class OfRows:
    """Rows are counted; values are not looked at."""

    __slots__ = ()

    def bound(self: _OfGroups, chunks: Iterable[Chunk | Partial], salt: bytes) -> Bounded:
        return bound(chunks, self.caps, salt, n_groups=self.n_groups)

    def part(self: _OfGroups, chunks: Iterable[Chunk], salt: bytes) -> Partial:
        return bound_part(chunks, self.caps, salt, n_groups=self.n_groups)


class OfValues:
    """Each value is put on the grid."""

    __slots__ = ()

    def bound(self: _OnGrid, chunks: Iterable[Chunk | Partial], salt: bytes) -> Bounded:
        return bound(chunks, self.caps, salt, n_groups=self.n_groups, grid=self.grid)

    def part(self: _OnGrid, chunks: Iterable[Chunk], salt: bytes) -> Partial:
        return bound_part(chunks, self.caps, salt, n_groups=self.n_groups, grid=self.grid)
