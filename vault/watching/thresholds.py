"""Thresholds: from where on a pattern is told. Ours, and low: what is told costs a look, what is not is not seen."""

from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import Final

__all__ = ["DEFAULTS", "Thresholds"]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Shares are from 0 to 1.

    tiny: a charge is tiny up to this share of the dataset's lifetime. tiny_count: so many of one principal within
    tiny_within are told. near_count: so many questions that differ in one condition, or in their price alone.
    single: a filter is told that leaves at most this share of what is declared. full, full_windows: an analyst is told
    who spent this share of a budget in so many windows in a row.

    Raises: ValueError naming the field.
    """

    tiny: Fraction = Fraction(1, 200)
    tiny_count: int = 20
    tiny_within: timedelta = timedelta(days=1)
    near_count: int = 5
    single: Fraction = Fraction(1, 100)
    full: Fraction = Fraction(9, 10)
    full_windows: int = 3

    def __post_init__(self) -> None:
        for name in ("tiny", "single", "full"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is a share, from 0 to 1")
        for name, least in (("tiny_count", 2), ("near_count", 2), ("full_windows", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {least} or more")
        if self.tiny_within <= timedelta():
            raise ValueError("tiny_within is longer than nothing")


DEFAULTS: Final = Thresholds()
