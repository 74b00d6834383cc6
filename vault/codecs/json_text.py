"""JSON text: the one spelling of a JSON value, after RFC 8785, but for numbers, which lose nothing.

Members are sorted by code point, there are no blanks, and nothing is escaped but what must be. An integer is its
digits. A float is spelled as RFC 8785 has it, with .0 behind it where that would be an integer.
"""

import json
import math
from decimal import Decimal
from typing import Any, Final

from vault.codecs.integer import exact_int
from vault.errors import InvalidValueError

__all__ = ["DEEPEST", "MOST_DIGITS", "read", "spell"]

# Ours: far from where Python's own recursion ends.
DEEPEST: Final = 200
# CPython's own limit on integers as text, against quadratic work.
MOST_DIGITS: Final = 4300
_TOO_LARGE: Final = 10**MOST_DIGITS


def spell(value: object, *, numeric: bool = False) -> str:
    """The one text of a value. numeric: spell a float that is an integer as that integer, so that 1.0 is 1.

    Raises: InvalidValueError, without the value, for what JSON has not: other types, other keys than text, NaN,
    infinities; and for integers of more than 4,300 digits or more than 200 levels.
    """
    parts: list[str] = []
    _spell(value, numeric, DEEPEST, parts)
    return "".join(parts)


def read(text: str) -> Any:
    """The value of a text that spell gives. Raises: ValueError for any other text."""
    try:
        value = json.loads(text)
        if spell(value) == text:
            return value
    except (InvalidValueError, RecursionError):
        pass
    raise ValueError("json/1 is the one spelling of its value")


def _spell(value: object, numeric: bool, levels: int, parts: list[str]) -> None:
    if value is None:
        parts.append("null")
    elif isinstance(value, bool):
        parts.append("true" if value else "false")
    elif isinstance(value, str):
        parts.append(_string(value))
    elif isinstance(value, float):
        parts.append(_float(float.__pos__(value), numeric))  # a plain float, whatever a subclass overrides
    elif isinstance(value, dict | list | tuple):
        if not levels:
            raise InvalidValueError(f"the JSON value has more than {DEEPEST} levels")
        if isinstance(value, dict):
            _object(value, numeric, levels - 1, parts)
        else:
            _array(value, numeric, levels - 1, parts)
    else:
        parts.append(_integer(value))


def _object(value: dict[Any, Any], numeric: bool, levels: int, parts: list[str]) -> None:
    if not all(isinstance(name, str) for name in value):
        raise InvalidValueError("the names of a JSON object are texts: write other keys as texts")
    members = {str.__str__(name): member for name, member in value.items()}
    if len(members) < len(value):  # of a subclass of str, whose equal texts a dict may hold apart
        raise InvalidValueError("two names of a JSON object are the same text")
    parts.append("{")
    for at, name in enumerate(sorted(members)):
        parts.append(f"{',' if at else ''}{_string(name)}:")
        _spell(members[name], numeric, levels, parts)
    parts.append("}")


def _array(value: list[Any] | tuple[Any, ...], numeric: bool, levels: int, parts: list[str]) -> None:
    parts.append("[")
    for at, member in enumerate(value):
        if at:
            parts.append(",")
        _spell(member, numeric, levels, parts)
    parts.append("]")


def _string(text: str) -> str:
    return json.dumps(str.__str__(text), ensure_ascii=False)


def _integer(value: object) -> str:
    number = exact_int(value)
    if number is None:
        raise InvalidValueError(f"JSON has no {type(value).__name__}: write it as text, or as a list or object")
    if not -_TOO_LARGE < number < _TOO_LARGE:
        raise InvalidValueError(f"an integer in JSON has at most {MOST_DIGITS} digits here")
    return str(number)


def _float(value: float, numeric: bool) -> str:
    """ECMAScript's Number::toString, which RFC 8785 takes, with .0 where a float would look like an integer."""
    if not math.isfinite(value):
        raise InvalidValueError("JSON has no NaN and no infinity: write null or a text")
    if numeric and value.is_integer():
        return str(int(value))
    sign = "-" if math.copysign(1, value) < 0 else ""
    _, given, exponent = Decimal(float.__repr__(value)).as_tuple()
    digits = "".join(map(str, given)).lstrip("0")
    point = len(digits) + int(exponent)  # how many digits stand before the point
    digits = digits.rstrip("0")
    if not digits:
        return f"{sign}0.0"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if not 0 < point <= 21:
        head, tail = digits[0], digits[1:]
        return f"{sign}{head}{'.' if tail else ''}{tail}e{point - 1:+d}"
    if len(digits) <= point:
        return f"{sign}{digits}{'0' * (point - len(digits))}.0"
    return f"{sign}{digits[:point]}.{digits[point:]}"
