"""Cell: the text of a CSV cell as a value of its column's type, exactly or not at all.

int     digits with an optional -, no leading zeros (an identity number is a str), within 64 bits
float   12, -0.5, .5 or 1e3; no leading zeros before a digit, NaN, infinity, thousands separator or decimal comma
str     the text as it stands, blanks too; NA, null and the like are texts
bytes   hexadecimal digits, two a byte
bool    true or false, in small letters; 1, yes and the like may mean something else
decimal as float, kept as it is written: 0.500 stays 0.500
date    2031-03-30
datetime 2031-03-30T02:30, with seconds and up to six digits of them, with Z or an offset such as +05:45 or without;
        a blank may stand for the T
uuid    32 hexadecimal digits in small letters, with the four hyphens
NULL    an unquoted empty cell, in a column that may be NULL; a quoted empty cell is an empty str or bytes
"""

import math
import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Final
from uuid import UUID

from vault.policy import ColumnType

Value = int | float | str | bytes | bool | Decimal | date | datetime | UUID
INT64: Final = range(-(2**63), 2**63)

_INT: Final = re.compile(r"0|-?[1-9][0-9]*+", re.ASCII)
_FLOAT: Final = re.compile(r"-?(?:(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?", re.ASCII)
_HEX: Final = re.compile(r"(?:[0-9A-Fa-f]{2})*+", re.ASCII)
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_DATETIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
    r"(?:Z|[+-][0-9]{2}:[0-9]{2}(?::[0-9]{2})?)?",
    re.ASCII,
)
_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII)
_UUIDLIKE: Final = re.compile(r"\{?[0-9A-Fa-f]{8}(?:-?[0-9A-Fa-f]{4}){3}-?[0-9A-Fa-f]{12}\}?", re.ASCII)
_DATELIKE: Final = re.compile(r"[0-9]{1,4}[-./ ][0-9]{1,2}[-./ ][0-9]{1,4}", re.ASCII)
_LEADING_ZERO: Final = re.compile(r"-?0[0-9.]++", re.ASCII)
_SEPARATED: Final = re.compile(r"[^0-9A-Za-z]?[0-9][0-9.,' _]*+[^0-9A-Za-z]?", re.ASCII)
_LONGEST_INT64: Final = len(str(-(2**63)))

_HEX_DIGITS: Final = re.compile(r"[0-9A-Fa-f]++", re.ASCII)
_NUMBERLIKE: Final = (
    (_FLOAT, "a number with a point or an exponent"),
    (_LEADING_ZERO, "digits with a leading zero; declare the column as str to keep it"),
    (_SEPARATED, "digits with separators or signs; write a plain number with a decimal point"),
)
# What a text that does not fit may look like, by its column's type; the first that matches is told.
_LOOKS: Final[dict[ColumnType, tuple[tuple[re.Pattern[str], str], ...]]] = {
    "int": ((_INT, "a number beyond the range"), *_NUMBERLIKE),
    "float": ((_FLOAT, "a number beyond the range"), *_NUMBERLIKE),
    "str": (),
    "bytes": ((_HEX_DIGITS, "an odd number of hexadecimal digits"),),
    "bool": ((re.compile("true|false", re.IGNORECASE), "true or false in capital letters"), (_INT, "a number")),
    "decimal": ((_FLOAT, "a number beyond the range"), *_NUMBERLIKE),
    "date": (
        (_DATETIME, "a date with a time; declare the column as datetime"),
        (_DATE, "a date that no calendar has"),
        (_DATELIKE, "a date in another order or with other signs; write 2031-03-30"),
    ),
    "datetime": (
        (_DATETIME, "a time that no clock shows"),
        (_DATE, "a date without a time; declare the column as date"),
    ),
    "uuid": ((_UUIDLIKE, "a UUID in another spelling"),),
}

EXPECTED: Final[dict[ColumnType, str]] = {
    "int": "a whole number of 64 bits",
    "float": "a number such as -0.5 or 1e3",
    "str": "a text",
    "bytes": "bytes as hexadecimal digits, two a byte",
    "bool": "true or false",
    "decimal": "a decimal number such as -0.50",
    "date": "a date such as 2031-03-30",
    "datetime": "a date and time such as 2031-03-30T02:30:00+05:45",
    "uuid": "a UUID such as 6ba7b810-9dad-41d1-80b4-00c04fd430c8",
}


def converter(kind: ColumnType) -> Callable[[str], Value | None]:
    """The function that gives a cell's value, or None when the text does not fit (`found` says how)."""
    return _CONVERTERS[kind]


def found(text: str, kind: ColumnType) -> str:
    """What an unfit text is, in words that hold nothing of it."""
    if not text:
        return "an empty quoted cell; leave it unquoted for NULL"
    if text != text.strip():
        return "blanks around the text"
    return next((words for looks_so, words in _LOOKS[kind] if looks_so.fullmatch(text)), "a text")


def _int(text: str) -> int | None:
    if len(text) > _LONGEST_INT64 or not _INT.fullmatch(text):
        return None
    value = int(text)
    return value if value in INT64 else None


def _float(text: str) -> float | None:
    """The nearest binary64; None too where that is an infinity, or zero for a number that is not."""
    if not _FLOAT.fullmatch(text):
        return None
    value = float(text)
    lost = math.isinf(value) or (not value and any(digit in "123456789" for digit in re.split("[eE]", text)[0]))
    return None if lost else value


def _bytes(text: str) -> bytes | None:
    return bytes.fromhex(text) if _HEX.fullmatch(text) else None


def _bool(text: str) -> bool | None:
    return {"true": True, "false": False}.get(text)


def _decimal(text: str) -> Decimal | None:
    if not _FLOAT.fullmatch(text):
        return None
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent of more than 18 digits
        return None


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if _DATE.fullmatch(text) else None
    except ValueError:  # that error quotes the text
        return None


def _datetime(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if _DATETIME.fullmatch(text) else None
    except ValueError:
        return None


def _uuid(text: str) -> UUID | None:
    return UUID(text) if _UUID.fullmatch(text) else None


_CONVERTERS: Final[dict[ColumnType, Callable[[str], Value | None]]] = {
    "int": _int,
    "float": _float,
    "str": str,
    "bytes": _bytes,
    "bool": _bool,
    "decimal": _decimal,
    "date": _date,
    "datetime": _datetime,
    "uuid": _uuid,
}
