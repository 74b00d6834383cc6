"""Parts: what is kept of a value by an index that finds many values by one part of them."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any, Final

from vault.errors import InvalidValueError
from vault.normalise import Normaliser

__all__ = ["last_four", "month", "year"]

DAY_CODECS: Final = ("date/1", "datetime/1")
_NOT_ASCII_DIGITS: Final = {code: None for code in range(128) if not 0x30 <= code <= 0x39}


def _last_four(text: str) -> str | None:
    kept = text.translate(_NOT_ASCII_DIGITS)
    if any(not "0" <= sign <= "9" and sign.isdecimal() for sign in kept):
        raise InvalidValueError("last4/1 reads the digits 0 to 9 only: write other digits with those")
    kept = "".join(sign for sign in kept if "0" <= sign <= "9")
    return kept[-4:] if len(kept) >= 4 else None


def _asked_four(asked: object) -> str:
    found = _last_four(asked) if isinstance(asked, str) else None
    if found is None:
        raise InvalidValueError("last4/1 is asked for a text with four digits, or more")
    return found


def _day(value: date) -> date:
    """As it compares: an aware time by the instant, so at UTC."""
    if isinstance(value, datetime) and value.utcoffset() is not None:
        try:
            return value.astimezone(UTC)
        except OverflowError:
            pass  # within a day of the first or last instant that datetime has
        raise InvalidValueError("year/1 and month/1 read times whose year at UTC is 1 to 9999")
    return value


def _year(value: date) -> str:
    return f"{_day(value).year:04}"


def _month(value: date) -> str:
    day = _day(value)
    return f"{day.year:04}-{day.month:02}"


def _asked(name: str, of_day: Callable[[date], str], example: str) -> Callable[[Any], str]:
    def part(asked: Any) -> str:
        if isinstance(asked, date):
            return of_day(asked)
        text = f"{asked:04}" if type(asked) is int and len(example) == 4 else asked
        if isinstance(text, str) and len(text) == len(example) and _is_day(text):
            return text
        raise InvalidValueError(f"{name} is asked for a date, or for a text such as {example}")

    return part


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(f"{text}-01-01"[:10] if len(text) == 4 else f"{text}-01").isoformat().startswith(text)
    except ValueError:
        return False


last_four: Final = Normaliser("last4/1", _last_four, asked=_asked_four)
"""Partial: the last four of the digits 0 to 9. Its terms show which rows share them; there are 10,000."""
year: Final = Normaliser("year/1", _year, DAY_CODECS, _asked("year/1", _year, "2031"))
"""Partial: the year; of an aware time, the year at UTC. Its terms show how many rows each year has."""
month: Final = Normaliser("month/1", _month, DAY_CODECS, _asked("month/1", _month, "2031-01"))
"""Partial: year and month; of an aware time, those at UTC. Its terms show how many rows each month has."""
