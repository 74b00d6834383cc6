"""int/1: an integer of any size, in the fewest bytes of two's complement, little-endian; zero is 00."""

from collections.abc import Sequence

from vault.codec import Codec
from vault.codecs.integer import exact_int
from vault.errors import InvalidValueError

__all__ = ["INT"]


def encode(value: object) -> bytes:
    """Raises: InvalidValueError for anything but int and numpy integers."""
    number = exact_int(value)
    if number is None:
        raise InvalidValueError(f"int/1 holds int, not {type(value).__name__}")
    magnitude = number if number >= 0 else ~number  # what is left when the sign bit stands apart
    return number.to_bytes(magnitude.bit_length() // 8 + 1, "little", signed=True)


def decode(data: bytes) -> int:
    """Raises: ValueError for no bytes, and for more than the integer needs."""
    number = int.from_bytes(data, "little", signed=True)
    if encode(number) != data:
        raise ValueError("int/1 is the fewest bytes of two's complement")
    return number


def decode_many(parts: Sequence[bytes]) -> list[int]:
    """Raises: ValueError as decode."""
    return list(map(decode, parts))


INT = Codec("int/1", encode, decode, encode, decode_many)
