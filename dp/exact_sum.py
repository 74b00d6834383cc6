"""Exact sums: per group, without rounding or wrapping, whatever the order and the number of rows."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

# A sum of integers in float64 is exact while it stays below 2**53 (IEEE 754, binary64).
_BINARY64_EXACT: Final = 2**53
# The square of a number below this fits a signed 64-bit integer.
_SQUARE_FITS: Final = 2**31
_LIMB_BITS: Final = 22
_LIMB_MASK: Final = np.int64(2**_LIMB_BITS - 1)
# So many rows at a time: a sum of as many 22-bit limbs stays below 2**53.
_BLOCK: Final = 2**20


def group_counts(group: NDArray[np.int32], n_groups: int) -> tuple[int, ...]:
    """How many rows each declared group has, the empty ones too. Every row is of a declared group."""
    if n_groups == 1:
        return (len(group),)
    return tuple(np.bincount(group, minlength=n_groups).tolist())


def group_sums(group: NDArray[np.int32], value: NDArray[np.int64], n_groups: int, reach: int) -> tuple[int, ...]:
    """The sum of each declared group, as Python integers.

    reach: no value is further from 0 than this (at most 2**63); it decides how the work is done, not the result.
    """
    if n_groups == 1:
        return (_total(value, reach),)
    sums = [0] * n_groups
    for start in range(0, len(value), _BLOCK):
        part = slice(start, start + _BLOCK)
        for shift, limb in _limbs(value[part], reach):
            for index, of_group in enumerate(np.bincount(group[part], weights=limb, minlength=n_groups).tolist()):
                if of_group:
                    sums[index] += int(of_group) << shift
    return tuple(sums)


def group_squares(group: NDArray[np.int32], value: NDArray[np.int64], n_groups: int, reach: int) -> tuple[int, ...]:
    """The sum of the squares of each declared group, as Python integers.

    reach: no value is further from 0 than this (at most 2**62); it decides how the work is done, not the result.
    """
    if reach < _SQUARE_FITS:
        return group_sums(group, value * value, n_groups, reach**2)
    far = np.abs(value)
    high, low = far >> np.int64(31), far & np.int64(2**31 - 1)
    # (2**31 * high + low)**2, with high at most 2**31 and low below it.
    parts = ((high * high, 62), (high * low, 32), (low * low, 0))
    sums = [group_sums(group, product, n_groups, 2**62) for product, _ in parts]
    return tuple(
        sum(total << shift for total, (_, shift) in zip(of_group, parts, strict=True))
        for of_group in zip(*sums, strict=True)
    )


def group_distinct(group: NDArray[np.int32], value: NDArray[np.int64], n_groups: int) -> tuple[int, ...]:
    """How many different values each declared group has."""
    order = np.lexsort((value, group))
    of_group, of_value = group[order], value[order]
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = (of_group[1:] != of_group[:-1]) | (of_value[1:] != of_value[:-1])
    return group_counts(of_group[first], n_groups)


def _total(value: NDArray[np.int64], reach: int) -> int:
    rows = (2**63 - 1) // max(reach, 1)
    if rows < _BLOCK:
        low = value & np.int64(2**32 - 1)
        return (_total(value >> np.int64(32), 2**31) << 32) + _total(low, 2**32)
    return sum(int(value[start : start + rows].sum()) for start in range(0, len(value), rows))


def _limbs(value: NDArray[np.int64], reach: int) -> list[tuple[int, NDArray[np.int64]]]:
    """Digits to the base 2**22 that add up to the value: the last is signed, the others are not."""
    if reach * _BLOCK <= _BINARY64_EXACT:
        return [(0, value)]
    shift = np.int64(_LIMB_BITS)
    return [
        (0, value & _LIMB_MASK),
        (_LIMB_BITS, (value >> shift) & _LIMB_MASK),
        (2 * _LIMB_BITS, value >> (shift + shift)),
    ]
