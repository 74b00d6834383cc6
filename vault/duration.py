"""Duration: a length of time as it is written and shown, such as 30d or 12h."""

import re
from datetime import timedelta
from typing import Final

__all__ = ["UNITS", "read_duration", "show_duration", "show_exactly"]

UNITS: Final = {
    "w": timedelta(weeks=1),
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
}
# Ours: a century; what is longer is a slip of the finger.
LONGEST: Final = timedelta(days=36_525)


def read_duration(text: str) -> timedelta:
    """A whole number and one unit. Raises: ValueError saying what there is to write."""
    found = re.fullmatch(r"([0-9]{1,10})([wdhms])", text.strip())
    if found is None:
        raise ValueError(f"{text!r} is no duration: write a number and w, d, h, m or s, such as 30d or 12h")
    number, unit = int(found[1]), UNITS[found[2]]
    if number > LONGEST // unit:
        raise ValueError(f"{text!r} is more than a hundred years")
    return number * unit


def show_duration(length: timedelta) -> str:
    """In the largest unit of d, h, m and s of which there is one, rounded down; 0s for what is negative."""
    for unit in ("d", "h", "m"):
        if length >= UNITS[unit]:
            return f"{length // UNITS[unit]}{unit}"
    return f"{max(0, int(length.total_seconds()))}s"


def show_exactly(length: timedelta) -> str:
    """As it may be written, in the largest unit of d, h, m and s that divides it."""
    unit = next(unit for unit in ("d", "h", "m", "s") if not length % UNITS[unit])
    return f"{length // UNITS[unit]}{unit}"
