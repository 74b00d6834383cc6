"""Promised rows: rows in memory that hold no more of any unit than the caps allow, because the caller says so.

Nothing is bounded here, so no units are asked for, and values go from floats to exact totals in one pass.
"""

from dataclasses import dataclass
from math import isnan
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dp.errors import ParameterError
from dp.exact_sum import group_counts, group_sums
from dp.grid import Grid
from dp.quantising import has_place

# numpy is called on pieces of this many values, so that they stay in the processor's cache.
_BLOCK: Final = 2**15
# A sum of integers in float64 is exact while it stays below 2**53 (IEEE 754, binary64).
_BINARY64_EXACT: Final = 2**53


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PromisedRows:
    """Values, and the declared groups that they are of; the caller promises what bounding would have made sure of.

    The promise: of each unit there are no more rows than the question's caps allow, at most c in each of at most k
    groups, and whether a row is among these depends on its own unit alone. One row a unit is the plain case. Nothing
    can check it, and where it does not hold the answer is less private than its price says: rows of which that is not
    known go through the question's bound().

    value: int64 or float64. NaN is dropped, infinities are clamped.
    group: int32, the index of the row's group in the declared list, anything else (-1) is dropped; None when the
        question is not grouped.

    Raises: ParameterError for another type or for columns of different lengths.
    """

    value: NDArray[np.int64] | NDArray[np.float64]
    group: NDArray[np.int32] | None = None

    def __post_init__(self) -> None:
        _require("value", self.value, "int64 or float64", np.int64, np.float64)
        if self.group is not None:
            _require("group", self.group, "int32", np.int32)
            if self.group.shape != self.value.shape:
                raise ParameterError("group", "values and groups have one length")

    def totals(self, grid: Grid, n_groups: int, *, counted: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The sum of each declared group, in steps, and how many rows that is of (zeros unless counted).

        They are exactly those of grid.quantise() and dp/exact_sum.py.

        Raises: ParameterError when a question of several groups gets rows without any.
        """
        if self.group is None and n_groups > 1:
            raise ParameterError("group", "this question is about several groups and the rows have none")
        if self.value.dtype.type is np.int64 or _BLOCK * max(grid.reach, 1) > _BINARY64_EXACT:
            return self._in_integers(grid, n_groups)
        floats = self.value.astype(np.float64, copy=False)
        if self.group is None:
            return _of_one_group(floats, grid)
        return _of_groups(floats, self.group, grid, n_groups, counted=counted)

    def _in_integers(self, grid: Grid, n_groups: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        group = np.zeros(len(self.value), dtype=np.int32) if self.group is None else self.group
        keep, numbers = (group >= 0) & (group < n_groups), has_place(self.value)
        if numbers is not None:
            keep &= numbers
        group, value = group[keep], grid.quantise(self.value[keep])
        return group_sums(group, value, n_groups, grid.reach), group_counts(group, n_groups)


def _of_one_group(value: NDArray[np.float64], grid: Grid) -> tuple[tuple[int, ...], tuple[int, ...]]:
    total, count, work = 0, len(value), np.empty(min(_BLOCK, len(value)))
    with np.errstate(all="ignore"):
        for start in range(0, len(value), _BLOCK):
            steps = grid.as_floats(value[start : start + _BLOCK], work)
            added = float(np.add.reduce(steps))
            if isnan(added):  # only a NaN among them does that
                numbers = steps[~np.isnan(steps)]
                count -= len(steps) - len(numbers)
                added = float(np.add.reduce(numbers))
            total += int(added)
    return (total,), (count,)


def _of_groups(
    value: NDArray[np.float64], group: NDArray[np.int32], grid: Grid, n_groups: int, *, counted: bool
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    done, sums, counts = [0] * n_groups, np.zeros(n_groups), np.zeros(n_groups, dtype=np.int64)
    waiting, most = 0, _BINARY64_EXACT // max(grid.reach, 1)
    work, places = np.empty(min(_BLOCK, len(group))), np.empty(min(_BLOCK, len(group)), dtype=np.intp)
    with np.errstate(all="ignore"):
        for start in range(0, len(group), _BLOCK):
            steps = grid.as_floats(value[start : start + _BLOCK], work)
            # In place, and of the type that bincount would otherwise make a new array of.
            of = places[: len(steps)]
            of[:] = group[start : start + _BLOCK]
            # As unsigned numbers those below 0 are the largest.
            if int(np.maximum.reduce(of.view(np.uintp))) >= n_groups:
                declared = (of >= 0) & (of < n_groups)
                of, steps = of[declared], steps[declared]
            added = np.bincount(of, weights=steps, minlength=n_groups)
            if np.isnan(added).any():
                numbers = ~np.isnan(steps)
                of, steps = of[numbers], steps[numbers]
                added = np.bincount(of, weights=steps, minlength=n_groups)
            if counted:
                counts += np.bincount(of, minlength=n_groups)
            if waiting + len(of) > most:
                done, waiting = _with(done, sums), 0
                sums[:] = 0
            sums += added
            waiting += len(of)
    return tuple(_with(done, sums)), tuple(counts.tolist())


def _with(done: list[int], sums: NDArray[np.float64]) -> list[int]:
    return [before + int(more) for before, more in zip(done, sums.tolist(), strict=True)]


def _require(name: str, column: object, wanted: str, *types: type[np.generic]) -> None:
    if type(column) is not np.ndarray or column.ndim != 1 or column.dtype.type not in types:
        raise ParameterError(name, f"it is a one-dimensional numpy array of {wanted}")
    if not column.dtype.isnative:
        raise ParameterError(name, f"it is {wanted} in the machine's own byte order")
