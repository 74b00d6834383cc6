"""Arrays: opened values as the numpy columns that a question is computed on. Total: what does not fit is left out."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from kms import lp
from vault.policy import ColumnType

# The types of which every value fits.
SURE: Final[dict[ColumnType, type]] = {"float": float, "str": str, "bytes": bytes, "uuid": UUID}
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
# What lp() puts before parts of each length; longer ones are rare.
LENGTHS: Final = tuple(lp(bytes(length))[: -length or None] for length in range(64))


def fits(value: object, kind: ColumnType) -> bool:
    """Whether a value is of its column's declared kind. NULL is not; a database may hold stranger things."""
    match kind:
        case "int":
            return type(value) is int and INT64_MIN <= value <= INT64_MAX
        case "float":
            return isinstance(value, float) or (type(value) is int and INT64_MIN <= value <= INT64_MAX)
        case "str":
            return isinstance(value, str)
        case "bytes":
            return isinstance(value, bytes)
        case "uuid":
            return isinstance(value, UUID)
        case "bool" | "decimal" | "date" | "datetime":
            return False  # no unit, and nothing to add up


def all_fit(values: Sequence[Any], kind: ColumnType) -> bool:
    """Whether each is for certain what fits() asks for; decided by their types, in one look."""
    types = set(map(type, values))
    if kind == "int":
        return types == {int} and min(values) >= INT64_MIN and max(values) <= INT64_MAX
    return types == {SURE.get(kind)}


def numbers(values: Sequence[Any], kind: ColumnType) -> NDArray[np.int64] | NDArray[np.float64]:
    """Values that fit an int or a float column."""
    if kind == "int":
        return np.array(values, dtype=np.int64)
    return np.array(values, dtype=np.float64)


def units(values: Sequence[Any], kind: ColumnType) -> NDArray[np.int64] | NDArray[np.bytes_]:
    """Whom rows belong to: integers as they are, all else by a full-length hash."""
    if kind == "int":
        return np.array(values, dtype=np.int64)
    return np.array([hashlib.sha256(canonical(value)).digest() for value in values], dtype="S32")


def key_bytes(keys: Sequence[Sequence[Any]]) -> list[bytes]:
    """Primary keys, each in one unambiguous spelling. keys: by column."""
    columns = [_framed(column) for column in keys]
    return columns[0] if len(columns) == 1 else [b"".join(parts) for parts in zip(*columns, strict=True)]


def _framed(column: Iterable[Any]) -> list[bytes]:
    """As lp(canonical(value)), of each."""
    return [LENGTHS[len(part)] + part if len(part) < len(LENGTHS) else lp(part) for part in map(canonical, column)]


def hashes(values: Sequence[Any], kind: ColumnType, salt: bytes) -> NDArray[np.int64]:
    """A number of 62 bits for each value that fits, the same for equal ones; by the salt it is nobody's choice."""
    if kind == "float":
        values = [float(value) + 0.0 for value in values]
    numbered = [
        int.from_bytes(hashlib.blake2b(canonical(value), digest_size=8, key=salt[:64]).digest()) >> 2
        for value in values
    ]
    return np.array(numbered, dtype=np.int64)


def keys_of(values: Sequence[Any], kind: ColumnType) -> tuple[list[int], tuple[bytes, ...]]:
    """For each value the place of its key among those of all these values, -1 where it does not fit; and the keys."""
    places: dict[bytes, int] = {}
    found = [places.setdefault(canonical(value), len(places)) if fits(value, kind) else -1 for value in values]
    return found, tuple(places)


def label_of(key: bytes) -> int | str:
    """The whole number or text that a key is of."""
    kind, _, text = key.decode("utf-8", "surrogatepass").partition(":")
    return int(text) if kind == "int" else text


def canonical(value: object) -> bytes:
    """One spelling a value, different for different values of different types."""
    if isinstance(value, bytes | memoryview):
        return b"bytes:" + bytes(value)
    return f"{type(value).__name__}:{value}".encode("utf-8", "surrogatepass")
