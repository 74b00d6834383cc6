"""Span: the length of time that a budget is for, counted in fixed buckets of UTC since 1970.

A window is the present bucket and as many before it as a span has. So every interval as long as the span, whatever it
begins with, lies within one window: it never holds more than one window's budget. Daylight saving and the year's end
move no bucket.
"""

from dataclasses import dataclass
from typing import Final

MICROSECONDS: Final = 1_000_000
HOUR: Final = 3600 * MICROSECONDS
DAY: Final = 24 * HOUR


@dataclass(frozen=True, slots=True)
class Span:
    """name: as budgets and the ledger's tables say it. bucket: its length in microseconds; 0 for one without an end.

    buckets: how many make the span. a_year: how many spans a year has, rounded down.
    """

    name: str
    bucket: int
    buckets: int
    a_year: int

    def at(self, time: int) -> int:
        """The bucket that a time is in. time: microseconds since 1970, UTC."""
        return time // self.bucket if self.bucket else 0

    def first(self, bucket: int) -> int:
        """The earliest bucket of the window that ends with this one."""
        return bucket - self.buckets

    def leaves_at(self, bucket: int) -> int | None:
        """When a bucket is no longer in the present window, in microseconds since 1970; None for never."""
        return (bucket + self.buckets + 1) * self.bucket if self.bucket else None


SPANS: Final = {
    span.name: span
    for span in (
        Span("day", HOUR, 24, 365),
        Span("week", DAY, 7, 52),
        Span("month", DAY, 30, 12),
        Span("quarter", 7 * DAY, 13, 4),
        Span("ever", 0, 0, 1),
    )
}
