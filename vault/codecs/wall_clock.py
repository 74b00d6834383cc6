"""Wall clock: what a clock on the wall shows, and how far it is from UTC where that is known.

| 00 naive, 01 naive and the second of two equal times, 02 aware | microseconds shown, 8 | offset from UTC, 8 |

Both numbers are microseconds in two's complement, little-endian; a naive clock's offset is zero.
"""

import struct
from dataclasses import dataclass
from datetime import datetime, time, timedelta, timezone
from typing import Final

from vault.errors import InvalidValueError

__all__ = ["DAY", "MICROSECOND", "WALL_CLOCK_BYTES", "WallClock", "microseconds_shown", "offset_of"]

MICROSECOND: Final = timedelta(microseconds=1)
DAY: Final = timedelta(days=1) // MICROSECOND
NAIVE, SECOND_TIME, AWARE = range(3)
_LAYOUT: Final = struct.Struct("<Bqq")
WALL_CLOCK_BYTES: Final = _LAYOUT.size


@dataclass(frozen=True, slots=True)
class WallClock:
    """shown, offset: microseconds. fold: PEP 495's, of a naive clock only, since an offset says the same."""

    shown: int
    offset: int | None
    fold: int = 0

    def storage(self) -> bytes:
        """All of it."""
        if self.offset is None:
            return _LAYOUT.pack(SECOND_TIME if self.fold else NAIVE, self.shown, 0)
        return _LAYOUT.pack(AWARE, self.shown, self.offset)

    def equality(self) -> bytes:
        """Of an aware clock the time at UTC; of a naive one what it shows, which equals no aware one."""
        if self.offset is None:
            return _LAYOUT.pack(NAIVE, self.shown, 0)
        return _LAYOUT.pack(AWARE, self.shown - self.offset, 0)

    @classmethod
    def of_storage(cls, data: bytes) -> "WallClock":
        """Raises: ValueError for bytes that storage does not give."""
        if len(data) != WALL_CLOCK_BYTES:
            raise ValueError(f"a time is {WALL_CLOCK_BYTES} bytes")
        kind, shown, offset = _LAYOUT.unpack(data)
        if kind > AWARE or (kind != AWARE and offset) or not -DAY < offset < DAY:
            raise ValueError("a time is naive, or aware with an offset of less than a day")
        return cls(shown, offset if kind == AWARE else None, int(kind == SECOND_TIME))

    @property
    def zone(self) -> timezone | None:
        """The offset as a tzinfo."""
        return None if self.offset is None else timezone(self.offset * MICROSECOND)


def microseconds_shown(value: datetime | time) -> int:
    """Since midnight. Raises: InvalidValueError for a subclass that shows no time of a day, as pandas.NaT does."""
    try:
        shown = ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
    except Exception:  # noqa: BLE001, S110  # what a subclass raises may hold the value: ours is raised outside
        pass
    else:
        if isinstance(shown, int) and 0 <= shown < DAY:
            return shown
    raise InvalidValueError("it shows no time of a day")


def offset_of(value: datetime | time) -> int | None:
    """Its offset from UTC in microseconds; None for a naive value.

    Raises: InvalidValueError for a tzinfo that gives no offset, or fails.
    """
    try:
        offset = value.utcoffset()
    except Exception:  # noqa: BLE001, S110  # a tzinfo is the application's; what it raises may hold the value
        pass
    else:
        if offset is not None and abs(offset) < timedelta(days=1):  # which a subclass need not keep to
            return offset // MICROSECOND
        if offset is None and value.tzinfo is None:
            return None
    raise InvalidValueError("its tzinfo gives no offset from UTC, so the zone would be lost: use a fixed offset")
