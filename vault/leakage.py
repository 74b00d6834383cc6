"""Leakage: what the terms of an index tell of a column's values, measured on the values themselves, in memory.

The terms show how often each value occurs, and nothing else while the index key is safe. Whoever knows how often values
occur in the world guesses from that; how well is what is measured here.
"""

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from math import floor, isqrt, log2
from typing import Final

__all__ = ["WIDTHS", "Leakage", "Width"]

WIDTHS: Final = (4, 6, 8, 10, 12, 14, 16, 20, 24, 32, 256)
# Ours: with so few values each is known from how often it occurs.
HANDFUL: Final = 16
# Ours: a value that one row in fifty has is found by its frequency alone.
COMMON_SHARE: Final = 0.02
# Of fewer rows each one has that share by itself.
FEW_ROWS: Final = round(1 / COMMON_SHARE)
# Ours: how many other values a term should stand for, so that it does not show which rows have equal ones.
LEAST_COMPANY: Final = 2


@dataclass(frozen=True, slots=True)
class Width:
    """bits: of an index. false_positives: rows of other values under the term of a row's own value, as an average over
    rows, expected of a random function; a look-up opens so many more rows than it gives.
    """

    bits: int
    false_positives: float


@dataclass(frozen=True, slots=True)
class Leakage:
    """How the values that an index takes for one are spread. squares: the sum of the squares of all counts."""

    rows: int
    without_term: int
    distinct: int
    most_common: int
    squares: int

    @classmethod
    def measured(cls, encodings: Iterable[Hashable | None]) -> "Leakage":
        """Of what each row's term is made of: equality encodings, None for a row without a term."""
        counts: Counter[Hashable | None] = Counter(encodings)
        without = counts.pop(None, 0)
        rows = sum(counts.values())
        squares = sum(count * count for count in counts.values())
        return cls(rows, without, len(counts), max(counts.values(), default=0), squares)

    @property
    def most_common_share(self) -> float:
        """Of the rows with a term, those that have the most frequent value: 0 to 1."""
        return self.most_common / self.rows if self.rows else 0.0

    @property
    def min_entropy(self) -> float:
        """Bits: minus the logarithm of the chance to guess a random row's value at once."""
        return log2(self.rows / self.most_common) if self.rows else 0.0

    def false_positives(self, bits: int) -> float:
        """See Width. A row of value v meets (rows - count of v) / 2^bits others; averaged over rows."""
        return (self.rows - self.squares / self.rows) / 2**bits if self.rows else 0.0

    def widths(self, declared: Iterable[int] = ()) -> tuple[Width, ...]:
        """WIDTHS, those that are declared, and hiding_bits, in order."""
        hiding = () if self.hiding_bits is None else (self.hiding_bits,)
        return tuple(Width(bits, self.false_positives(bits)) for bits in sorted({*WIDTHS, *declared, *hiding}))

    @property
    def hiding_bits(self) -> int | None:
        """The most bits at which a term stands, on average, for LEAST_COMPANY other values than a row's own.

        None where there are too few values for that, and where a look-up would then open more rows of other values than
        the square root of all.
        """
        if self.distinct - 1 < 2 * LEAST_COMPANY:
            return None
        bits = floor(log2((self.distinct - 1) / LEAST_COMPANY))
        return bits if self.false_positives(bits) <= isqrt(self.rows) else None

    @property
    def advice(self) -> str:
        """What to declare, and why."""
        if self.rows < FEW_ROWS and (self.distinct == self.rows or self.distinct > HANDFUL):
            few = (
                f"{self.rows} values are too few to tell how often they repeat"
                if self.rows
                else "there is no value yet"
            )
            return f"{few}: measure again when there are {FEW_ROWS} or more"
        if self.distinct <= HANDFUL:
            few = "the one value is" if self.distinct == 1 else f"of {self.distinct} values each is"
            return (
                f"no index: {few} known from how often it occurs, whatever the width;"
                " filter after reading, or put the column into an index over several"
            )
        if self.distinct == self.rows:
            return "full length: no two rows have one value, so that the terms show nothing but that"
        if self.most_common_share >= COMMON_SHARE:
            return (
                "an index shows the frequent values to anyone who knows how often they occur, whatever the width; leave"
                " it out unless that may be known"
            )
        seen = "full length, if it may be seen which rows have equal values"
        hiding = self.hiding_bits
        if hiding is None:
            return (
                "full length, if it may be seen which rows have equal values; else none, fewer bits open too many rows"
            )
        return f"{seen}; else bits = {hiding}"
