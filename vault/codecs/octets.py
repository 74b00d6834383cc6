"""bytes/1: bytes as they are; bytearray and memoryview are taken too, and come back as bytes."""

from collections.abc import Sequence

from vault.codec import Codec
from vault.errors import InvalidValueError

__all__ = ["BYTES"]


def encode(value: object) -> bytes:
    """Raises: InvalidValueError for anything but bytes, bytearray and memoryview; text is not encoded by guess."""
    if type(value) is bytes:
        return value
    if isinstance(value, bytes | bytearray):
        return memoryview(value).tobytes()  # the bytes it holds, whatever a subclass overrides
    if isinstance(value, memoryview):
        return value.tobytes()
    raise InvalidValueError(f"bytes/1 holds bytes, bytearray or memoryview, not {type(value).__name__}")


def decode(data: bytes) -> bytes:
    """The bytes themselves."""
    return data


def decode_many(parts: Sequence[bytes]) -> list[bytes]:
    """The bytes themselves."""
    return list(parts)


BYTES = Codec("bytes/1", encode, decode, encode, decode_many)
