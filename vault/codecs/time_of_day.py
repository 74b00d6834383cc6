"""time/1: a time of day to the microsecond, naive or with its offset from UTC; the layout is WallClock's, counted
from midnight. Aware values are equal where their times at UTC are, without counting round midnight, as Python has it.
"""

from collections.abc import Sequence
from datetime import datetime, time, timedelta

from vault.codec import Codec
from vault.codecs.moment import EPOCH
from vault.codecs.wall_clock import DAY, WALL_CLOCK_BYTES, WallClock, microseconds_shown, offset_of
from vault.errors import InvalidValueError

__all__ = ["TIME"]


def clock_of(value: object) -> WallClock:
    """Raises: InvalidValueError for anything but datetime.time, and for a zone whose offset depends on the date."""
    if not isinstance(value, time):
        raise InvalidValueError(f"time/1 holds datetime.time, not {type(value).__name__}")
    return WallClock(microseconds_shown(value), offset_of(value), value.fold)


def encode(value: object) -> bytes:
    """Raises: InvalidValueError as clock_of."""
    return clock_of(value).storage()


def equality(value: object) -> bytes:
    """Raises: InvalidValueError as clock_of."""
    return clock_of(value).equality()


def decode(data: bytes) -> time:
    """Raises: ValueError for bytes that encode does not make."""
    clock = WallClock.of_storage(data)
    if not 0 <= clock.shown < DAY:
        raise ValueError("time/1 is less than a day")
    shown: datetime = EPOCH + timedelta(microseconds=clock.shown)
    return shown.time().replace(tzinfo=clock.zone, fold=clock.fold)


def decode_many(parts: Sequence[bytes]) -> list[time]:
    """Raises: ValueError as decode."""
    return list(map(decode, parts))


TIME = Codec("time/1", encode, decode, equality, decode_many, width=WALL_CLOCK_BYTES)
