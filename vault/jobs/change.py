"""Change: one row that a job rewrites; and Failed, one value that it cannot, with a reason that holds no value."""

from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = ["Change", "Failed", "Key"]

# A primary key as the driver gives it, in the order of table.primary_key.columns.
Key = tuple[Any, ...]


class Change(NamedTuple):
    """old: what was read of the columns that the work compares, in their order. new: what those that it sets become.

    A tuple, since a million are made: a frozen dataclass takes three times as long.
    """

    key: Key
    old: tuple[Any, ...]
    new: tuple[Any, ...]

    def __repr__(self) -> str:
        return "Change(...)"


@dataclass(frozen=True, slots=True, repr=False)
class Failed:
    """A value that was left byte for byte. reason: for an operator; it never holds a value."""

    key: Key
    column: str
    reason: str
