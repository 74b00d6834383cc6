"""Pace: how many rows the next batch has, and how long to rest before it. Pure: the clock and the sleep are others'."""

from dataclasses import dataclass
from typing import Final

__all__ = ["Pace", "PaceSettings"]

# Ours: a batch is at most so many times the one before, so that one quick batch does not bring a slow one.
GROWTH: Final = 2.0
FIRST_ROWS: Final = 1000


@dataclass(frozen=True, slots=True)
class PaceSettings:
    """target_seconds: how long a batch is to take, its transaction included. least_rows, most_rows: of a batch.

    rows_per_second: at most so many rows are rewritten a second, over the whole run; None: as fast as may be.
    """

    target_seconds: float = 0.25
    least_rows: int = 10
    most_rows: int = 25_000
    rows_per_second: float | None = None

    def __post_init__(self) -> None:
        if not self.target_seconds > 0:
            raise ValueError(f"a batch takes more than 0 seconds, not {self.target_seconds}")
        if self.least_rows < 1 or self.most_rows < 1:
            raise ValueError("a batch has at least one row")
        if self.rows_per_second is not None and not self.rows_per_second > 0:
            raise ValueError(f"more than 0 rows a second, not {self.rows_per_second}")

    @property
    def longest(self) -> int:
        """Rows of the longest batch: no more than a second's at the rate that is allowed."""
        rate = self.rows_per_second
        return self.most_rows if rate is None else max(1, min(self.most_rows, int(rate)))

    @property
    def shortest(self) -> int:
        return min(self.least_rows, self.longest)


@dataclass(frozen=True, slots=True)
class Pace:
    """rows: of the next batch. free_at: the moment, in seconds, before which it is not to be written."""

    settings: PaceSettings
    rows: int
    free_at: float = float("-inf")

    @classmethod
    def begin(cls, settings: PaceSettings) -> "Pace":
        return cls(settings, max(settings.shortest, min(FIRST_ROWS, settings.longest)))

    def after(self, rows: int, seconds: float, written: int, now: float) -> "Pace":
        """The pace after a batch of `rows` rows that took `seconds`, of which `written` were rewritten.

        Slower than the target: as much smaller at once. Faster: at most twice as large.
        """
        factor = min(GROWTH, self.settings.target_seconds / max(seconds, 1e-9))
        # A short last page says little about a long one.
        wanted = int(max(rows, 1) * factor) if factor < 1 or rows >= self.rows else self.rows
        return Pace(
            self.settings,
            max(self.settings.shortest, min(wanted, self.settings.longest)),
            self._rested(written, now),
        )

    def rest(self, now: float) -> float:
        """Seconds to wait before the next batch."""
        return max(0.0, self.free_at - now)

    def _rested(self, written: int, now: float) -> float:
        rate = self.settings.rows_per_second
        if rate is None or not written:
            return self.free_at
        return max(self.free_at, now) + written / rate
