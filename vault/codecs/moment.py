"""datetime/1: a date and time to the microsecond, naive or with its offset from UTC; the layout is WallClock's,
counted from 1970-01-01T00:00:00 as the clock shows it. Aware values are equal at the same instant.

A zone is kept as the offset that it has at that time, so that the same isoformat() comes back.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from vault.codec import Codec
from vault.codecs.day import EPOCH_ORDINAL
from vault.codecs.wall_clock import DAY, WALL_CLOCK_BYTES, WallClock, microseconds_shown, offset_of
from vault.errors import InvalidValueError

__all__ = ["DATETIME"]

EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001  # what the clock shows has no zone of its own


def clock_of(value: object) -> WallClock:
    """Raises: InvalidValueError for anything but datetime.datetime, and for what is finer than a microsecond."""
    if not isinstance(value, datetime):
        raise InvalidValueError(f"datetime/1 holds datetime.datetime, not {type(value).__name__}")
    if getattr(value, "nanosecond", 0):
        raise InvalidValueError("datetime/1 holds microseconds, and this value is finer: round it where it is made")
    day = (datetime.toordinal(value) - EPOCH_ORDINAL) * DAY
    return WallClock(day + microseconds_shown(value), offset_of(value), value.fold)


def encode(value: object) -> bytes:
    """Raises: InvalidValueError as clock_of."""
    return clock_of(value).storage()


def equality(value: object) -> bytes:
    """Raises: InvalidValueError as clock_of."""
    return clock_of(value).equality()


def decode(data: bytes) -> datetime:
    """Raises: ValueError for bytes that encode does not make."""
    clock = WallClock.of_storage(data)
    try:
        return (EPOCH + timedelta(microseconds=clock.shown)).replace(tzinfo=clock.zone, fold=clock.fold)
    except OverflowError:
        pass
    raise ValueError("datetime/1 is of the years 1 to 9999")


def decode_many(parts: Sequence[bytes]) -> list[datetime]:
    """Raises: ValueError as decode."""
    return list(map(decode, parts))


DATETIME = Codec("datetime/1", encode, decode, equality, decode_many, width=WALL_CLOCK_BYTES)
