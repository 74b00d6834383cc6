"""Array literal: a column of values as one text that PostgreSQL reads as an array.

psycopg makes an array of a list too, but asks for a way to write each member: four microseconds a value, which is as
much as the database needs for the whole row.
Source: PostgreSQL manual, 8.15.2 and 8.15.6 (array input and quoting), 8.4.1 (bytea in hex).
"""

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["array_literal"]


def array_literal(values: Sequence[Any], text_of: Callable[[Any], str]) -> str:
    """One-dimensional, to be cast to an array of the column's type.

    text_of: how PostgreSQL reads a value that is neither None, bytes, int nor str.
    """
    kinds = set(map(type, values))
    if kinds == {bytes}:
        return '{"\\\\x' + '","\\\\x'.join([value.hex() for value in values]) + '"}'
    if kinds == {int}:
        return "{" + ",".join(map(str, values)) + "}"
    return "{" + ",".join([_member(value, text_of) for value in values]) + "}"


def _member(value: Any, text_of: Callable[[Any], str]) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes | bytearray | memoryview):
        return f'"\\\\x{value.hex()}"'
    text = value if type(value) is str else text_of(value)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
