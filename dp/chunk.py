"""A chunk: some rows of a question's input, as arrays. The only form in which data reaches dp."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dp.errors import ParameterError


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Chunk:
    """Rows in columns of one length; the order and the split into chunks mean nothing.

    unit: whose row it is, int64, or bytes (dtype S1 and up), the same in every chunk of a question. Rows without a unit
        are left out by the caller. Units in bytes have one length (a hash, a full term), since numpy cannot tell a
        shorter one from the same with zero bytes at its end.
    group: int32, the index of the row's group in the declared list, or in this chunk's `keys` where there are some;
        anything else (-1) is undeclared, and dropped.
    tie: uint64, a salted hash of the row's own primary key (see tie_break.py); of a unit's rows the smallest stay.
    value: int64 or float64, or None for a count. NaN is dropped, infinities are clamped.
    keys: of groups that nobody declared, as bytes (one canonical encoding a key); None where groups are declared.

    Raises: ParameterError for another type or for columns of different lengths.
    """

    unit: NDArray[np.int64] | NDArray[np.bytes_]
    group: NDArray[np.int32]
    tie: NDArray[np.uint64]
    value: NDArray[np.int64] | NDArray[np.float64] | None = None
    keys: tuple[bytes, ...] | None = None

    def __post_init__(self) -> None:
        _require("unit", self.unit, self.unit, "int64 or fixed-length bytes (S32)", np.int64, np.bytes_)
        _require("group", self.group, self.unit, "int32", np.int32)
        _require("tie", self.tie, self.unit, "uint64", np.uint64)
        if self.value is not None:
            _require("value", self.value, self.unit, "int64 or float64", np.int64, np.float64)
        if self.keys is not None and (type(self.keys) is not tuple or not all(type(key) is bytes for key in self.keys)):
            raise ParameterError("keys", "they are a tuple of bytes")

    def __len__(self) -> int:
        return len(self.unit)


def _require(name: str, column: object, unit: object, wanted: str, *types: type[np.generic]) -> None:
    if type(column) is not np.ndarray or column.ndim != 1 or column.dtype.type not in types:
        raise ParameterError(name, f"a chunk's column is a one-dimensional numpy array of {wanted}")
    if not column.dtype.isnative or column.dtype.itemsize == 0:
        raise ParameterError(name, f"a chunk's column is {wanted} in the machine's own byte order")
    if isinstance(unit, np.ndarray) and column.shape != unit.shape:
        raise ParameterError(name, "a chunk's columns have one length")
