"""Bounding: how much of one privacy unit a question sees, at most k groups and c rows in each.

First rows of undeclared groups and rows without a number are dropped. Then, of each unit, the k groups of the smallest
salted hash are kept, and in each of them the c rows of the smallest `tie`. What is kept of a unit depends on its own
rows alone, so a unit that is added or removed moves nobody else's.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from dp.chunk import Chunk
from dp.errors import ParameterError
from dp.grid import Grid, has_place
from dp.tie_break import group_hash, unit_hash, unit_words

MAX_CAP: Final = 2**31 - 1
MAX_GROUPS: Final = 2**31 - 1
# Rows that are held before the first compaction; afterwards twice what the last one kept, if that is more.
_HOLD: Final = 2**19


@dataclass(frozen=True, slots=True)
class Caps:
    """Of one unit at most `rows` rows in a group, in at most `groups` groups (1 for an ungrouped question).

    Raises: ParameterError unless both are whole numbers from 1 to 2**31 - 1.
    """

    rows: int
    groups: int = 1

    def __post_init__(self) -> None:
        for name, cap in (("caps.rows", self.rows), ("caps.groups", self.groups)):
            if type(cap) is not int or not 1 <= cap <= MAX_CAP:
                raise ParameterError(name, "a cap is an int from 1 to 2**31 - 1")

    def rows_in(self, n_groups: int) -> int:
        """The most rows of one unit that a question over so many declared groups can see."""
        return self.rows * min(self.groups, n_groups)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Bounded:
    """The rows that are kept: index of the declared group, and value in steps of the grid (None for a count)."""

    group: NDArray[np.int32]
    value: NDArray[np.int64] | None


def bound(chunks: Iterable[Chunk], caps: Caps, salt: bytes, *, n_groups: int, grid: Grid | None = None) -> Bounded:
    """Keep of each unit what the caps allow.

    salt: fixed per dataset. n_groups: how many groups are declared. grid: values are put on it row by row before
    anything else; without one, values are not looked at.

    Memory holds a few hundred thousand rows, or three times what is kept.

    Raises: ParameterError when chunks differ in the type of their unit or lack a value that the grid is for.
    """
    held: list[_Rows] = []
    waiting, allowed = 0, _HOLD
    for chunk in chunks:
        rows = _Rows.of(chunk, n_groups, grid)
        if held and held[0].words.shape[1] != rows.words.shape[1]:
            raise ParameterError("unit", "the chunks of one question have one type of unit")
        held.append(rows)
        waiting += len(rows.group)
        if waiting > allowed:
            held = [_compact(_Rows.joined(held), caps, salt, n_groups)]
            waiting = len(held[0].group)
            allowed = max(_HOLD, 2 * waiting)
    if not held:
        empty = np.empty(0, dtype=np.int64)
        return Bounded(empty.astype(np.int32), None if grid is None else empty)
    kept = _compact(_Rows.joined(held), caps, salt, n_groups)
    return Bounded(kept.group, None if grid is None else kept.value)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Rows:
    words: NDArray[np.uint64]
    group: NDArray[np.int32]
    tie: NDArray[np.uint64]
    value: NDArray[np.int64] | None

    @classmethod
    def of(cls, chunk: Chunk, n_groups: int, grid: Grid | None) -> Self:
        keep = (chunk.group >= 0) & (chunk.group < n_groups)
        value = None
        if grid is not None:
            if chunk.value is None:
                raise ParameterError("value", "this question is about values and the chunk has none")
            numbers = has_place(chunk.value)
            if numbers is not None:
                keep &= numbers
            value = grid.quantise(chunk.value)
        rows = cls(unit_words(chunk.unit), chunk.group, chunk.tie, value)
        return rows if keep.all() else rows.only(keep)

    @classmethod
    def joined(cls, several: list[Self]) -> Self:
        if len(several) == 1:
            return several[0]
        values = [rows.value for rows in several if rows.value is not None]
        return cls(
            np.concatenate([rows.words for rows in several]),
            np.concatenate([rows.group for rows in several]),
            np.concatenate([rows.tie for rows in several]),
            np.concatenate(values) if values else None,
        )

    def only(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> Self:
        value = None if self.value is None else self.value[which]
        return type(self)(self.words[which], self.group[which], self.tie[which], value)


def _compact(rows: _Rows, caps: Caps, salt: bytes, n_groups: int) -> _Rows:
    """Drop what no row that is yet to come can bring back: what is not among the k and c smallest is never again."""
    total = len(rows.group)
    hashes = unit_hash(salt, rows.words)
    order = np.argsort(hashes)
    starts = _starts(hashes[order])
    lengths = np.diff(np.append(np.flatnonzero(starts), total))
    # A run of one hash is one unit (or, one time in 2**64, several): one no longer than both caps is kept as it is.
    fits = lengths <= (caps.rows if n_groups == 1 else min(caps.rows, caps.groups))
    if fits.all():
        return rows
    crowded = np.sort(order[np.repeat(~fits, lengths)])
    keep = np.ones(total, dtype=np.bool_)
    keep[crowded] = _chosen(rows.only(crowded), hashes[crowded], caps, salt, n_groups)
    return rows.only(keep)


def _chosen(rows: _Rows, hashes: NDArray[np.uint64], caps: Caps, salt: bytes, n_groups: int) -> NDArray[np.bool_]:
    """Which of these rows are kept."""
    by_group = group_hash(salt, hashes, rows.group)
    words = [rows.words[:, column] for column in range(rows.words.shape[1])]
    value: list[NDArray[np.int64]] = [] if rows.value is None else [rows.value]
    # Last key first. Rows that are alike in every key are alike in all that is looked at: either may stay.
    keys: list[NDArray[np.int64] | NDArray[np.uint64] | NDArray[np.int32]]
    keys = [*value, rows.tie, rows.group, by_group, *words]
    order = np.lexsort(tuple(keys))
    unit_starts = np.zeros(len(order), dtype=np.bool_)
    for word in words:
        unit_starts |= _starts(word[order])
    group_starts = unit_starts | _starts(rows.group[order])
    keep = _place_in_run(group_starts) < caps.rows
    if caps.groups < n_groups:
        group_number = np.cumsum(group_starts)
        first = np.flatnonzero(unit_starts)
        lengths = np.diff(np.append(first, len(order)))
        keep &= group_number - np.repeat(group_number[first], lengths) < caps.groups
    chosen = np.empty(len(order), dtype=np.bool_)
    chosen[order] = keep
    return chosen


def _starts(ordered: NDArray[np.uint64] | NDArray[np.int32]) -> NDArray[np.bool_]:
    """Where a run of equal values begins."""
    starts = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=starts[1:])
    return starts


def _place_in_run(starts: NDArray[np.bool_]) -> NDArray[np.int64]:
    first = np.flatnonzero(starts)
    return np.arange(len(starts)) - np.repeat(first, np.diff(np.append(first, len(starts))))
