"""json/1: a JSON value as its one text (json_text) in UTF-8; equality takes a float for the integer that it equals.

Objects are dict, arrays are list (a tuple is taken as one). NULL is NULL, so that null stands inside values only.
"""

from collections.abc import Sequence
from typing import Any

from vault.codec import Codec
from vault.codecs.json_text import read, spell
from vault.codecs.text import STR
from vault.errors import InvalidValueError

__all__ = ["JSON_CODEC"]


def encode(value: object) -> bytes:
    """Raises: InvalidValueError for what JSON, or UTF-8, cannot hold, and for null as the whole value."""
    return _encoded(value, numeric=False)


def equality(value: object) -> bytes:
    """Raises: InvalidValueError as encode."""
    return _encoded(value, numeric=True)


def _encoded(value: object, *, numeric: bool) -> bytes:
    if value is None:
        raise InvalidValueError("json/1 holds no null as a whole value, not NoneType: NULL is that")
    try:
        text = spell(value, numeric=numeric)
    except (RecursionError, ValueError):  # near the end of the stack, or with Python's own limit on digits lowered
        text = None
    if text is None:
        raise InvalidValueError("the JSON value is nested deeper, or an integer in it longer, than Python goes here")
    return STR.encode(text)


def decode(data: bytes) -> Any:
    """Raises: ValueError for bytes that encode does not make."""
    value = read(data.decode())
    if value is None:
        raise ValueError("json/1 holds no null as a whole value")
    return value


def decode_many(parts: Sequence[bytes]) -> list[Any]:
    """Raises: ValueError as decode."""
    return list(map(decode, parts))


JSON_CODEC = Codec("json/1", encode, decode, equality, decode_many)
