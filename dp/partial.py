"""A partial: what is kept of the rows of one worker: of each unit no more than the caps allow, on the grid.

Of a unit whose rows several workers have, all of them keep what may still count; joined and bounded again, what is left
is the same as if one had seen all rows. As bytes, everything little-endian:

    | 02 | unit kind, 1 | has values 1, has keys 2 | words a unit, 4 | rows, 8 | words | group | tie | value | keys |

with keys as | how many, 4 | and for each | its length, 4 | key |.
"""

import struct
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from dp.chunk import Chunk
from dp.errors import ParameterError
from dp.grid import Grid
from dp.quantising import has_place
from dp.tie_break import unit_words

__all__ = ["NO_KIND", "Partial"]

HEAD: Final = struct.Struct("<BcBIQ")
KEY_HEAD: Final = struct.Struct("<I")
FORMAT: Final = 2
HAS_VALUES: Final = 1
HAS_KEYS: Final = 2
NO_KIND: Final = "-"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Partial:
    """words: whose row it is. kind: of the units, as numpy calls it; "-" of no rows. value: in steps of the grid. keys:
    where no groups are declared, those that the groups are indexes of, ascending, each once."""

    kind: str
    words: NDArray[np.uint64]
    group: NDArray[np.int32]
    tie: NDArray[np.uint64]
    value: NDArray[np.int64] | None
    keys: tuple[bytes, ...] | None = None

    @classmethod
    def of(cls, chunk: Chunk, n_groups: int, grid: Grid | None) -> Self:
        """The rows of a chunk that can count at all. Raises: ParameterError."""
        if chunk.keys is not None:
            raise ParameterError("keys", "this question is about declared groups and the chunk has keys of others")
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
    def of_keys(cls, chunk: Chunk) -> Self:
        """The rows of a chunk that are in a group, which nobody declared. Raises: ParameterError."""
        if chunk.keys is None:
            raise ParameterError("keys", "this question is about groups that nobody declared and the chunk has no keys")
        keep = (chunk.group >= 0) & (chunk.group < len(chunk.keys))
        keys = tuple(sorted(set(chunk.keys)))
        group = _places(chunk.keys, keys)[chunk.group[keep]]
        return cls(chunk.unit.dtype.kind, unit_words(chunk.unit)[keep], group, chunk.tie[keep], None, keys)

    @classmethod
    def none(cls, *, has_values: bool) -> Self:
        empty = np.empty(0, dtype=np.int64)
        words = np.empty((0, 1), dtype=np.uint64)
        tie, value = empty.astype(np.uint64), empty if has_values else None
        return cls(NO_KIND, words, empty.astype(np.int32), tie, value)

    @classmethod
    def joined(cls, several: list[Self]) -> Self:
        """All their rows. The list is emptied, so that of no more than one column the rows are there twice."""
        if len(several) == 1:
            return several.pop()
        kind = next((rows.kind for rows in several if rows.kind != NO_KIND), NO_KIND)
        width = max(rows.words.shape[1] for rows in several)
        keys = tuple(sorted({key for rows in several for key in rows.keys or ()}))
        keyed = any(rows.keys is not None for rows in several)
        words = [_as_wide(rows.words, width) for rows in several]
        groups = [rows.group if rows.keys is None else _places(rows.keys, keys)[rows.group] for rows in several]
        ties = [rows.tie for rows in several]
        values = [rows.value for rows in several if rows.value is not None]
        several.clear()
        value = _drained(values) if values else None
        return cls(kind, _drained(words), _drained(groups), _drained(ties), value, keys if keyed else None)

    def only(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> Self:
        value = None if self.value is None else self.value[which]
        return type(self)(self.kind, self.words[which], self.group[which], self.tie[which], value, self.keys)

    def in_groups(self, group: NDArray[np.int64], which: NDArray[np.bool_]) -> Self:
        """These rows in other groups, which no longer need their values."""
        chosen = group[which].astype(np.int32)
        return type(self)(self.kind, self.words[which], chosen, self.tie[which], None)

    def __len__(self) -> int:
        return len(self.group)

    def with_used_keys(self) -> Self:
        """Without the keys that no row has any longer."""
        if self.keys is None:
            return self
        used, group = np.unique(self.group, return_inverse=True)
        keys = tuple(self.keys[place] for place in used.tolist())
        return type(self)(self.kind, self.words, group.astype(np.int32), self.tie, self.value, keys)

    def to_bytes(self) -> bytes:
        """It says of each unit what counts: whoever carries it is to see it sealed."""
        has = (self.value is not None) * HAS_VALUES + (self.keys is not None) * HAS_KEYS
        head = HEAD.pack(FORMAT, self.kind.encode(), has, self.words.shape[1], len(self))
        columns = (self.words.astype("<u8"), self.group.astype("<i4"), self.tie.astype("<u8"))
        last = () if self.value is None else (self.value.astype("<i8"),)
        keys = () if self.keys is None else (KEY_HEAD.pack(len(self.keys)), *map(_framed, self.keys))
        return b"".join((head, *(column.tobytes() for column in (*columns, *last)), *keys))

    @classmethod
    def from_bytes(cls, told: bytes) -> Self:
        """Raises: ParameterError for what to_bytes() did not give."""
        if len(told) >= HEAD.size:
            form, kind, has, width, rows = HEAD.unpack_from(told)
            sizes = (8 * width * rows, 4 * rows, 8 * rows, 8 * rows if has & HAS_VALUES else 0)
            known = form == FORMAT and kind in {b"i", b"S", NO_KIND.encode()} and has in range(4) and width >= 1
            end = HEAD.size + sum(sizes)
            keys = _keys(told[end:]) if has & HAS_KEYS else () if len(told) == end else None
            if known and len(told) >= end and keys is not None:
                at = [HEAD.size + sum(sizes[:n]) for n in range(4)]
                words = np.frombuffer(told, "<u8", width * rows, at[0]).astype(np.uint64).reshape(rows, width)
                group = np.frombuffer(told, "<i4", rows, at[1]).astype(np.int32)
                tie = np.frombuffer(told, "<u8", rows, at[2]).astype(np.uint64)
                value = np.frombuffer(told, "<i8", rows, at[3]).astype(np.int64) if has & HAS_VALUES else None
                return cls(kind.decode(), words, group, tie, value, keys if has & HAS_KEYS else None)
        raise ParameterError("partial", "these bytes are no partial of this version")


def _as_wide(words: NDArray[np.uint64], width: int) -> NDArray[np.uint64]:
    more = width - words.shape[1]
    return np.pad(words, ((0, 0), (0, more))) if more else words


def _drained(column: list[NDArray[Any]]) -> NDArray[Any]:
    """The pieces of a column in one; they are let go of."""
    whole = np.concatenate(column)
    column.clear()
    return whole


def _places(keys: tuple[bytes, ...], among: tuple[bytes, ...]) -> NDArray[np.int32]:
    """Where each of the keys is in an ascending list that has them all."""
    places = {key: place for place, key in enumerate(among)}
    return np.array([places[key] for key in keys], dtype=np.int32)


def _framed(key: bytes) -> bytes:
    return KEY_HEAD.pack(len(key)) + key


def _keys(told: bytes) -> tuple[bytes, ...] | None:
    """The keys that these bytes are, or None if they are no keys."""
    if len(told) < KEY_HEAD.size:
        return None
    (left,), at, keys = KEY_HEAD.unpack_from(told), KEY_HEAD.size, []
    while left and len(told) >= at + KEY_HEAD.size:
        (length,) = KEY_HEAD.unpack_from(told, at)
        at += KEY_HEAD.size + length
        keys.append(told[at - length : at])
        left -= 1
    return tuple(keys) if left == 0 and at == len(told) else None
