"""Run order: rows sorted so that those of one unit, or of one of its groups, stand together in a run."""

import numpy as np
from numpy.typing import NDArray


def by_unit(words: NDArray[np.uint64], hashes: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """An order in which each unit's rows stand together, and where in it a unit begins."""
    order = np.argsort(hashes)
    starts = run_starts(hashes[order])
    if words.shape[1] == 1 or not _changes(words, order, ~starts):
        return order, starts
    columns = tuple(words[:, column] for column in range(words.shape[1]))  # two units share a hash
    order = np.lexsort(columns)
    starts = np.zeros(len(order), dtype=np.bool_)
    for column in columns:
        starts |= run_starts(column[order])
    return order, starts


def ordered(
    run: NDArray[np.int64], key: NDArray[np.uint64], *after: NDArray[np.int64] | NDArray[np.int32]
) -> NDArray[np.intp]:
    """The order by run (an ascending column of integers from 0), then by key, then by what comes after it.

    One sort of one 64-bit column, the run in its upper bits and what fits of the key below; where that leaves a
    question open, all columns are sorted.
    """
    bits = int(run[-1]).bit_length() if len(run) else 0
    joined = key if bits == 0 else (run.astype(np.uint64) << np.uint64(64 - bits)) | (key >> np.uint64(bits))
    order = np.argsort(joined)
    undecided = ~run_starts(joined[order])
    if undecided.any() and any(_changes(column, order, undecided) for column in (key, *after)):
        columns: list[NDArray[np.int64] | NDArray[np.uint64] | NDArray[np.int32]]
        columns = [*reversed(after), key, run]
        order = np.lexsort(tuple(columns))
    return order


def run_starts(
    column: NDArray[np.uint64] | NDArray[np.int64] | NDArray[np.int32],
) -> NDArray[np.bool_]:
    """Where a run of equal values begins."""
    starts = np.ones(len(column), dtype=np.bool_)
    np.not_equal(column[1:], column[:-1], out=starts[1:])
    return starts


def run_lengths(starts: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How long each run is."""
    return np.diff(np.append(np.flatnonzero(starts), len(starts)))


def _changes(
    column: NDArray[np.uint64] | NDArray[np.int64] | NDArray[np.int32],
    order: NDArray[np.intp],
    where: NDArray[np.bool_],
) -> bool:
    """Whether, in this order, a row differs from the one before it at any of these places (never the first)."""
    at = np.flatnonzero(where)
    return not np.array_equal(column[order[at]], column[order[at - 1]])
