"""uuid/1: a UUID as its 16 bytes in network order (RFC 9562, section 4)."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from vault.codec import Codec
from vault.errors import InvalidValueError

__all__ = ["UUID_CODEC"]

RFC_9562_UUID_BYTES: Final = 16


def encode(value: object) -> bytes:
    """Raises: InvalidValueError for anything but uuid.UUID; text of one is not parsed by guess."""
    if not isinstance(value, UUID):
        raise InvalidValueError(f"uuid/1 holds uuid.UUID, not {type(value).__name__}")
    return value.int.to_bytes(RFC_9562_UUID_BYTES, "big")


def decode(data: bytes) -> UUID:
    """Raises: ValueError unless there are 16 bytes."""
    return UUID(bytes=data)


def decode_many(parts: Sequence[bytes]) -> list[UUID]:
    """Raises: ValueError unless each has 16 bytes."""
    return [UUID(bytes=part) for part in parts]


UUID_CODEC = Codec("uuid/1", encode, decode, encode, decode_many, width=RFC_9562_UUID_BYTES)
