"""MariaDB literal: a value as the text of a statement, without a quote to escape.

PyMySQL writes values into the statement as well, one by one and slowly; text and bytes go in hexadecimal here, which
no sql_mode and no character set reads otherwise.
Source: MariaDB Knowledge Base, "Hexadecimal Literals", "Date and Time Literals".
"""

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

from vault.jobs.writing.sameness import as_span

__all__ = ["mariadb_literal"]


def _number(value: float) -> str:
    text = repr(value)
    return text if "e" in text else f"{text}e0"  # without an exponent it would be a DECIMAL


def _span(value: timedelta) -> str:
    sign, value = ("-", -value) if value < timedelta() else ("", value)
    seconds, fraction = divmod(value, timedelta(seconds=1))
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"TIME'{sign}{hour:02}:{minute:02}:{second:02}.{fraction.microseconds:06}'"


LITERALS: Final[dict[type, Callable[[Any], str]]] = {
    type(None): lambda _: "NULL",
    bytes: lambda value: f"x'{value.hex()}'",
    int: str,
    bool: lambda value: str(int(value)),
    str: lambda value: f"_utf8mb4 x'{value.encode().hex()}'",
    float: _number,
    Decimal: lambda value: f"{value:f}",
    datetime: lambda value: f"TIMESTAMP'{value.replace(tzinfo=None).isoformat(' ', 'microseconds')}'",
    date: lambda value: f"DATE'{value.isoformat()}'",
    time: lambda value: _span(as_span(value)),
    timedelta: _span,
}


def mariadb_literal(value: Any) -> str:
    """Raises: TypeError for a value that PyMySQL does not read from any column."""
    write = LITERALS.get(type(value))
    if write is None:
        raise TypeError(f"a value of type {type(value).__name__} has no form in a statement")
    return write(value)
