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
from dp.run_order import by_unit, ordered, run_lengths, run_starts
from dp.tie_break import group_hash, unit_hash, unit_words

MAX_CAP: Final = 2**31 - 1
MAX_GROUPS: Final = 2**31 - 1
# Ours: enough to make a compaction worth its while, and some 20 MB.
HOLD_ROWS: Final = 2**19


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


def bound(
    chunks: Iterable[Chunk],
    caps: Caps,
    salt: bytes,
    *,
    n_groups: int,
    grid: Grid | None = None,
    hold_rows: int = HOLD_ROWS,
) -> Bounded:
    """Keep of each unit what the caps allow.

    salt: fixed per dataset. n_groups: how many groups are declared. grid: values are put on it row by row before
    anything else; without one, values are not looked at. hold_rows: how many rows to hold before dropping those over
    the caps; later twice what was kept then, if that is more. So memory holds hold_rows and a chunk, or twice what is
    kept, and copies of that while it is sorted. The result does not depend on it.

    Raises: ParameterError when chunks differ in the type of their units or lack a value that the grid is for.
    """
    held: list[_Rows] = []
    waiting, allowed = 0, hold_rows
    kinds: set[str] = set()
    for chunk in chunks:
        kinds.add(chunk.unit.dtype.kind)
        if len(kinds) > 1:
            raise ParameterError("unit", "the chunks of one question name units by integers or by bytes, not by both")
        held.append(_Rows.of(chunk, n_groups, grid))
        waiting += len(held[-1].group)
        if waiting > allowed:
            held = [_compact(_Rows.joined(held), caps, salt, n_groups)]
            waiting = len(held[0].group)
            allowed = max(hold_rows, 2 * waiting)
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
        width = max(rows.words.shape[1] for rows in several)
        return cls(
            np.concatenate([np.pad(rows.words, ((0, 0), (0, width - rows.words.shape[1]))) for rows in several]),
            np.concatenate([rows.group for rows in several]),
            np.concatenate([rows.tie for rows in several]),
            np.concatenate(values) if values else None,
        )

    def only(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> Self:
        value = None if self.value is None else self.value[which]
        return type(self)(self.words[which], self.group[which], self.tie[which], value)


def _compact(rows: _Rows, caps: Caps, salt: bytes, n_groups: int) -> _Rows:
    """Drop what no row that is yet to come can bring back: what is not among the k and c smallest is never again."""
    hashes = unit_hash(salt, rows.words)
    order, starts = by_unit(rows.words, hashes)
    lengths = run_lengths(starts)
    # A unit with no more rows than both caps is kept as it is.
    crowded = lengths > (caps.rows if n_groups == 1 else min(caps.rows, caps.groups))
    if not crowded.any():
        return rows
    places = order[np.repeat(crowded, lengths)]
    unit = np.repeat(np.arange(np.count_nonzero(crowded)), lengths[crowded])
    keep = np.ones(len(order), dtype=np.bool_)
    keep[places] = False
    chosen = _chosen(rows.only(places), unit, hashes[places], caps=caps, salt=salt, n_groups=n_groups)
    keep[places[chosen]] = True
    return rows.only(keep)


def _chosen(
    rows: _Rows, unit: NDArray[np.int64], hashes: NDArray[np.uint64], *, caps: Caps, salt: bytes, n_groups: int
) -> NDArray[np.intp]:
    """Which of these rows are kept. unit: 0, 1, ... as an ascending column."""
    chosen = np.arange(len(unit))
    pair = unit
    if n_groups > 1:
        by_group = group_hash(salt, hashes, rows.group)
        chosen = ordered(unit, by_group, rows.group)
        starts = run_starts(unit) | run_starts(rows.group[chosen])
        pair = np.cumsum(starts) - 1
        if caps.groups < n_groups:
            first = np.flatnonzero(run_starts(unit))
            kept = pair - np.repeat(pair[first], run_lengths(run_starts(unit))) < caps.groups
            chosen, pair = chosen[kept], pair[kept]
    value = () if rows.value is None else (rows.value[chosen],)
    # Rows that are alike in all of this are alike in all that is looked at: any of them may stay.
    chosen = chosen[ordered(pair, rows.tie[chosen], *value)]
    first = np.flatnonzero(run_starts(pair))
    place = np.arange(len(pair)) - np.repeat(first, run_lengths(run_starts(pair)))
    return chosen[place < caps.rows]
