"""A quarter: three months of UTC, and the days and calendar weeks in it."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final, Self

from vault.errors import PolicyError

__all__ = ["Quarter", "Week"]

WRITTEN: Final = re.compile(r"([0-9]{4})Q([1-4])", re.ASCII)
MONTHS: Final = 3
EPOCH: Final = date(1970, 1, 1)
DAY: Final = 86_400_000_000  # in microseconds; UTC as computers count it has no other


@dataclass(frozen=True, slots=True)
class Week:
    """A week of ISO 8601, Monday to Sunday, or what of it is in the quarter. after: the day after its last."""

    label: str
    first: date
    after: date


@dataclass(frozen=True, slots=True, order=True)
class Quarter:
    """number: 1 to 4. Moments are microseconds since 1970, UTC, as in the audit log."""

    year: int
    number: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Such as 2026Q3. Raises: PolicyError."""
        found = WRITTEN.fullmatch(text)
        if found is None or not EPOCH.year <= int(found[1]) < date.max.year:
            raise PolicyError("a quarter is written as 2026Q3, from 1970Q1 on")
        return cls(int(found[1]), int(found[2]))

    @classmethod
    def of(cls, moment: datetime) -> Self:
        """The quarter that the moment is in."""
        day = moment.astimezone(UTC).date()
        return cls(day.year, (day.month - 1) // MONTHS + 1)

    def __str__(self) -> str:
        return f"{self.year}Q{self.number}"

    @property
    def first(self) -> date:
        return date(self.year, (self.number - 1) * MONTHS + 1, 1)

    @property
    def after(self) -> date:
        """The day after its last."""
        return date(self.year + self.number // 4, self.number % 4 * MONTHS + 1, 1)

    @property
    def begin(self) -> int:
        return (self.first - EPOCH).days * DAY

    @property
    def end(self) -> int:
        """The first moment that is no longer in it."""
        return (self.after - EPOCH).days * DAY

    @property
    def days(self) -> int:
        return (self.after - self.first).days

    @property
    def weeks(self) -> tuple[Week, ...]:
        """In order; every day of the quarter is in one."""
        found, first = [], self.first
        while first < self.after:
            after = min(first + timedelta(days=7 - first.weekday()), self.after)
            year, week, _ = first.isocalendar()
            found.append(Week(f"{year}-W{week:02}", first, after))
            first = after
        return tuple(found)

    def day_of(self, at: int) -> int:
        """Of a moment in the quarter: its day, from 0."""
        return (at - self.begin) // DAY

    def week_of_day(self, day: int) -> int:
        """Of a day of the quarter, from 0: the place of its week."""
        return (day + self.first.weekday()) // 7
