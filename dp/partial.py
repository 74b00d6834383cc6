"""A partial: what is kept of the rows of one worker: of each unit no more than the caps allow, on the grid.

Of a unit whose rows several workers have, all of them keep what may still count; joined and bounded again, what is left
is the same as if one had seen all rows. As bytes, everything little-endian:

    | 01 | unit kind, 1 | has values, 1 | words a unit, 4 | rows, 8 | words | group | tie | value |
"""

import struct
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from dp.chunk import Chunk
from dp.errors import ParameterError
from dp.grid import Grid, has_place
from dp.tie_break import unit_words

__all__ = ["NO_KIND", "Partial"]

HEAD: Final = struct.Struct("<BcBIQ")
FORMAT: Final = 1
NO_KIND: Final = "-"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Partial:
    """words: whose row it is. kind: of the units, as numpy calls it; "-" of no rows. value: in steps of the grid."""

    kind: str
    words: NDArray[np.uint64]
    group: NDArray[np.int32]
    tie: NDArray[np.uint64]
    value: NDArray[np.int64] | None

    @classmethod
    def of(cls, chunk: Chunk, n_groups: int, grid: Grid | None) -> Self:
        """The rows of a chunk that can count at all. Raises: ParameterError."""
        keep = (chunk.group >= 0) & (chunk.group < n_groups)
        value = None
        if grid is not None:
            if chunk.value is None:
                raise ParameterError("value", "this question is about values and the chunk has none")
            numbers = has_place(chunk.value)
            if numbers is not None:
                keep &= numbers
            value = grid.quantise(chunk.value)
        rows = cls(chunk.unit.dtype.kind, unit_words(chunk.unit), chunk.group, chunk.tie, value)
        return rows if keep.all() else rows.only(keep)

    @classmethod
    def none(cls, *, has_values: bool) -> Self:
        empty = np.empty(0, dtype=np.int64)
        words = np.empty((0, 1), dtype=np.uint64)
        tie, value = empty.astype(np.uint64), empty if has_values else None
        return cls(NO_KIND, words, empty.astype(np.int32), tie, value)

    @classmethod
    def joined(cls, several: list[Self]) -> Self:
        if len(several) == 1:
            return several[0]
        values = [rows.value for rows in several if rows.value is not None]
        width = max(rows.words.shape[1] for rows in several)
        return cls(
            next((rows.kind for rows in several if rows.kind != NO_KIND), NO_KIND),
            np.concatenate([np.pad(rows.words, ((0, 0), (0, width - rows.words.shape[1]))) for rows in several]),
            np.concatenate([rows.group for rows in several]),
            np.concatenate([rows.tie for rows in several]),
            np.concatenate(values) if values else None,
        )

    def only(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> Self:
        value = None if self.value is None else self.value[which]
        return type(self)(self.kind, self.words[which], self.group[which], self.tie[which], value)

    def __len__(self) -> int:
        return len(self.group)

    def to_bytes(self) -> bytes:
        """It says of each unit what counts: whoever carries it is to see it sealed."""
        head = HEAD.pack(FORMAT, self.kind.encode(), self.value is not None, self.words.shape[1], len(self))
        columns = (self.words.astype("<u8"), self.group.astype("<i4"), self.tie.astype("<u8"))
        last = () if self.value is None else (self.value.astype("<i8"),)
        return b"".join((head, *(column.tobytes() for column in (*columns, *last))))

    @classmethod
    def from_bytes(cls, told: bytes) -> Self:
        """Raises: ParameterError for what to_bytes() did not give."""
        if len(told) >= HEAD.size:
            form, kind, has_values, width, rows = HEAD.unpack_from(told)
            sizes = (8 * width * rows, 4 * rows, 8 * rows, 8 * rows if has_values else 0)
            known = form == FORMAT and kind in {b"i", b"S", NO_KIND.encode()} and has_values in {0, 1} and width >= 1
            if known and len(told) == HEAD.size + sum(sizes):
                at = [HEAD.size + sum(sizes[:n]) for n in range(4)]
                words = np.frombuffer(told, "<u8", width * rows, at[0]).astype(np.uint64).reshape(rows, width)
                group = np.frombuffer(told, "<i4", rows, at[1]).astype(np.int32)
                tie = np.frombuffer(told, "<u8", rows, at[2]).astype(np.uint64)
                value = np.frombuffer(told, "<i8", rows, at[3]).astype(np.int64) if has_values else None
                return cls(kind.decode(), words, group, tie, value)
        raise ParameterError("partial", "these bytes are no partial of this version")
