"""int64/1: an integer as 8 bytes, two's complement, little-endian; out of range is an error, never wrapped."""

import struct
from collections.abc import Sequence
from typing import Any, Final

from vault.codec import Codec
from vault.codecs.numpy_scalar import is_numpy_scalar
from vault.errors import InvalidValueError

__all__ = ["INT64", "exact_int"]

INT64_BYTES: Final = 8
_INT64: Final = struct.Struct("<q")


def exact_int(value: object) -> int | None:
    """The integer that an int or a numpy integer stands for; None for anything else, bool included."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return int.__pos__(value)  # a plain int, whatever a subclass overrides
    return int(value) if is_numpy_scalar(value, "integer") else None


def encode(value: object) -> bytes:
    """Raises: InvalidValueError for anything but int and numpy integers, and beyond -2**63 to 2**63-1."""
    number = value if type(value) is int else exact_int(value)
    if number is None:
        raise InvalidValueError(f"int64/1 holds int, not {type(value).__name__}")
    if not -(2**63) <= number < 2**63:
        raise InvalidValueError("the integer does not fit 64 bits (int64/1 holds -2**63 to 2**63-1)")
    return _INT64.pack(number)


def decode(data: bytes) -> int:
    """Raises: ValueError unless there are 8 bytes."""
    if len(data) != INT64_BYTES:
        raise ValueError("int64/1 is 8 bytes")
    return int.from_bytes(data, "little", signed=True)


def decode_many(parts: Sequence[bytes]) -> list[Any]:
    """All at once. Raises: ValueError unless each has 8 bytes."""
    if any(len(part) != INT64_BYTES for part in parts):
        raise ValueError("int64/1 is 8 bytes")
    return list(struct.unpack(f"<{len(parts)}q", b"".join(parts)))


INT64 = Codec("int64/1", encode, decode, encode, decode_many, width=INT64_BYTES)
