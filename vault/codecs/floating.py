"""float64/1: a number as IEEE 754 binary64, little-endian; -0.0 equals 0.0, and NaN equals nothing."""

import struct
from collections.abc import Sequence
from typing import Any, Final

from vault.codec import Codec
from vault.codecs.integer import exact_int
from vault.codecs.numpy_scalar import is_numpy_scalar
from vault.errors import InvalidValueError

__all__ = ["FLOAT64"]

BINARY64_BYTES: Final = 8
_BINARY64: Final = struct.Struct("<d")


def exact_float(value: object) -> float:
    """The binary64 that a float, an int or a numpy number equals.

    Raises: InvalidValueError for other types, bool included, and where no binary64 is equal.
    """
    if isinstance(value, float):
        return float.__pos__(value)  # a plain float, whatever a subclass overrides
    number = value if is_numpy_scalar(value, "floating") else exact_int(value)
    if number is None:
        raise InvalidValueError(f"float64/1 holds float, not {type(value).__name__}")
    try:
        near = float(number)
    except OverflowError:
        near = float("inf")
    if near == number or (near != near and number != number):  # noqa: PLR0124  # NaN is what differs from itself
        return near
    raise InvalidValueError("the number is not exactly a 64-bit float: round it where it is made")


def encode(value: object) -> bytes:
    """Raises: InvalidValueError for what is not exactly a binary64."""
    return _BINARY64.pack(value if type(value) is float else exact_float(value))


def equality(value: object) -> bytes:
    """As encode, with one zero. Raises: InvalidValueError for NaN too."""
    number = exact_float(value)
    if number != number:  # noqa: PLR0124  # NaN is what differs from itself
        raise InvalidValueError("NaN cannot be indexed: it equals nothing, itself included")
    return _BINARY64.pack(number + 0.0)


def decode(data: bytes) -> Any:
    """Raises: ValueError unless there are 8 bytes."""
    if len(data) != BINARY64_BYTES:
        raise ValueError("float64/1 is 8 bytes")
    return _BINARY64.unpack(data)[0]


def decode_many(parts: Sequence[bytes]) -> list[Any]:
    """All at once. Raises: ValueError unless each has 8 bytes."""
    if set(map(len, parts)) - {BINARY64_BYTES}:
        raise ValueError("float64/1 is 8 bytes")
    return list(struct.unpack(f"<{len(parts)}d", b"".join(parts)))


FLOAT64 = Codec("float64/1", encode, decode, equality, decode_many, width=BINARY64_BYTES)
