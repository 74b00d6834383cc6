"""Bounding: how much of one privacy unit a question sees, at most k groups and c rows in each.

First rows of undeclared groups and rows without a number are dropped. Then, of each unit, the k groups of the smallest
salted hash are kept, and in each of them the c rows of the smallest `tie`. What is kept of a unit depends on its own
rows alone, so a unit that is added or removed moves nobody else's.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dp.caps import Caps
from dp.chunk import Chunk
from dp.errors import ParameterError
from dp.grid import Grid
from dp.partial import NO_KIND, Partial
from dp.run_order import by_unit, ordered, run_lengths, run_starts
from dp.tie_break import group_hash, key_words, unit_hash

MAX_GROUPS: Final = 2**31 - 1
# Ours: enough to make a compaction worth its while, and some 20 MB.
HOLD_ROWS: Final = 2**19
# Ours: a chunk's columns are made amid many short-lived objects, and would hold on to the places of those around them.
JOIN_ROWS: Final = 2**17


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Bounded:
    """The rows that are kept: index of the declared group, and value in steps of the grid (None for a count).

    keys: where no groups are declared, those that the indexes are of, ascending.
    """

    group: NDArray[np.int32]
    value: NDArray[np.int64] | None
    keys: tuple[bytes, ...] | None = None


def bound(
    chunks: Iterable[Chunk | Partial],
    caps: Caps,
    salt: bytes,
    *,
    n_groups: int,
    grid: Grid | None = None,
    hold_rows: int = HOLD_ROWS,
) -> Bounded:
    """Keep of each unit what the caps allow.

    chunks: or partials, of which together no row is in two. salt: fixed per dataset. n_groups: how many groups are
    declared. grid: values are put on it row by row before anything else; without one, values are not looked at.
    hold_rows: how many rows to hold before dropping those over the caps; later twice what was kept then, if that is
    more. So memory holds hold_rows and a chunk, or twice what is kept, one column of that twice while it is joined, and
    two more of hashes; more only while rows over the caps are sorted. The result does not depend on it.

    Raises: ParameterError when chunks differ in the type of their units or lack a value that the grid is for.
    """
    kept = bound_part(chunks, caps, salt, n_groups=n_groups, grid=grid, hold_rows=hold_rows)
    return Bounded(kept.group, None if grid is None else kept.value, kept.keys)


def bound_part(
    chunks: Iterable[Chunk | Partial],
    caps: Caps,
    salt: bytes,
    *,
    n_groups: int,
    grid: Grid | None = None,
    hold_rows: int = HOLD_ROWS,
) -> Partial:
    """As bound(), of a part of the rows: what is kept goes on to be bounded together with the other parts'."""
    held: list[Partial] = []
    small: list[Partial] = []
    waiting, unjoined, allowed = 0, 0, hold_rows
    kinds: set[str] = set()
    keyed: set[bool] = set()
    for chunk in chunks:
        rows = chunk if isinstance(chunk, Partial) else Partial.of(chunk, n_groups, grid)
        if (rows.value is None) != (grid is None):
            raise ParameterError("value", "the partials of one question all have values, or none has")
        if len(rows):
            keyed.add(rows.keys is not None)
        if len(keyed) > 1:
            raise ParameterError("keys", "the partials of one question all have keys of groups, or none has")
        kinds.add(rows.kind)
        if len(kinds - {NO_KIND}) > 1:
            raise ParameterError("unit", "the chunks of one question name units by integers or by bytes, not by both")
        small.append(rows)
        waiting += len(rows)
        unjoined += len(rows)
        if unjoined >= JOIN_ROWS or waiting > allowed:
            held.append(Partial.joined(small))
            unjoined = 0
        if waiting > allowed:
            held = [_compact(Partial.joined(held), caps, salt, n_groups)]
            waiting = len(held[0])
            allowed = max(hold_rows, 2 * waiting)
    held.extend(small)
    small.clear()
    if not held:
        return Partial.none(has_values=grid is not None)
    return _compact(Partial.joined(held), caps, salt, n_groups).with_used_keys()


def _compact(rows: Partial, caps: Caps, salt: bytes, n_groups: int) -> Partial:
    """Drop what no row that is yet to come can bring back: what is not among the k and c smallest is never again."""
    # A unit with no more rows than both caps is kept as it is.
    spared = caps.rows if n_groups == 1 else min(caps.rows, caps.groups)
    if not _any_repeats(unit_hash(salt, rows.words), spared):
        return rows
    hashes = unit_hash(salt, rows.words)  # anew: kept beside the sorted ones they would be most of the memory
    order, starts = by_unit(rows.words, hashes)
    lengths = run_lengths(starts)
    crowded = lengths > spared
    if not crowded.any():  # two units share a hash
        return rows
    places = order[np.repeat(crowded, lengths)]
    unit = np.repeat(np.arange(np.count_nonzero(crowded)), lengths[crowded])
    keep = np.ones(len(order), dtype=np.bool_)
    keep[places] = False
    chosen = _chosen(rows.only(places), unit, hashes[places], caps=caps, salt=salt, n_groups=n_groups)
    keep[places[chosen]] = True
    return rows.only(keep)


def _any_repeats(hashes: NDArray[np.uint64], times: int) -> bool:
    """Whether one of them is there more than so many times. They are sorted, in their place: this is most of the memory
    and the time of bounding rows of which none is over the caps."""
    hashes.sort()
    return bool((hashes[times:] == hashes[:-times]).any())


def _chosen(
    rows: Partial, unit: NDArray[np.int64], hashes: NDArray[np.uint64], *, caps: Caps, salt: bytes, n_groups: int
) -> NDArray[np.intp]:
    """Which of these rows are kept. unit: 0, 1, ... as an ascending column."""
    chosen = np.arange(len(unit))
    pair = unit
    if n_groups > 1:
        named = rows.group if rows.keys is None else key_words(salt, rows.keys)[rows.group]
        by_group = group_hash(salt, hashes, named)
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
