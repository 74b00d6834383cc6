"""Sameness: whether two values that a driver gave are the same bytes in the database, not only equal.

Python and SQL find equal what is not the same: 0.0 and -0.0, 1.0 and 1.00, 1 and True, noon here and noon there.
"""

from collections.abc import Sequence
from datetime import datetime, time, timedelta
from decimal import Decimal
from typing import Any

__all__ = ["same", "same_row"]


def same_row(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether all values of two rows of the same columns are the same."""
    return all(map(same, one, other))


def same(one: Any, other: Any) -> bool:
    """Exact, given that the driver reads the column's type without loss (see comparable.py)."""
    kind = type(one)
    if kind is not type(other):
        return False
    if kind is float:
        return bool(one.hex() == other.hex())  # tells the zeros apart; a NaN is a NaN
    if kind is Decimal:
        return bool(one.as_tuple() == other.as_tuple())
    if kind is datetime or kind is time:
        return bool(one.isoformat() == other.isoformat())  # with its offset
    if kind is list:
        return len(one) == len(other) and same_row(one, other)
    return bool(one == other)


def as_span(moment: time) -> timedelta:
    """A time of day as PyMySQL reads it."""
    return timedelta(hours=moment.hour, minutes=moment.minute, seconds=moment.second, microseconds=moment.microsecond)
