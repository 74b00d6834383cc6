"""date/1: a date of the proleptic Gregorian calendar as days since 1970-01-01, 4 bytes of two's complement,
little-endian.
"""

import struct
from collections.abc import Sequence
from datetime import date, datetime
from typing import Final

from vault.codec import Codec
from vault.errors import InvalidValueError

__all__ = ["DATE", "EPOCH_ORDINAL"]

EPOCH_ORDINAL: Final = date(1970, 1, 1).toordinal()
_INT32: Final = struct.Struct("<i")


def encode(value: object) -> bytes:
    """Raises: InvalidValueError for anything but datetime.date; the time of a datetime is not cut off."""
    if not isinstance(value, date) or isinstance(value, datetime):
        raise InvalidValueError(f"date/1 holds datetime.date, not {type(value).__name__}")
    return _INT32.pack(date.toordinal(value) - EPOCH_ORDINAL)


def decode(data: bytes) -> date:
    """Raises: ValueError unless there are 4 bytes, of a date of the years 1 to 9999."""
    if len(data) != _INT32.size:
        raise ValueError("date/1 is 4 bytes")
    return date.fromordinal(_INT32.unpack(data)[0] + EPOCH_ORDINAL)


def decode_many(parts: Sequence[bytes]) -> list[date]:
    """Raises: ValueError as decode."""
    return list(map(decode, parts))


DATE = Codec("date/1", encode, decode, encode, decode_many, width=4)
