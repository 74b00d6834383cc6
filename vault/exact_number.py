"""Exact number: decimal text read without rounding, and its one normal spelling."""

import re
from decimal import Decimal
from typing import Final

_SPELLING: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?", re.ASCII)
# Ours: far past what a binary64 float or a 64-bit integer can hold, and small enough to compute with at once.
_MOST_DIGITS: Final = 40
_FARTHEST_EXPONENT: Final = 400
_PLAIN_UP_TO: Final = 21
_PLAIN_DOWN_TO: Final = -7


def exact_number(text: str) -> Decimal:
    """Read a decimal number exactly; 1, 1.0 and 1e0 give one and the same value, and -0 gives 0.

    Raises: ValueError if it is not a finite decimal number of at most 40 digits and an exponent within 400.
    The message does not hold the text.
    """
    if not _SPELLING.fullmatch(text):
        raise ValueError("expected a decimal number such as 12, -0.5 or 1e3")
    return normal(Decimal(text))


def normal(number: Decimal) -> Decimal:
    """The same value without trailing zeros or a negative zero; no context rounds it.

    Raises: ValueError as `exact_number`.
    """
    if not number.is_finite():
        raise ValueError("expected a finite number")
    sign, digits, exponent = number.as_tuple()
    stripped = "".join(map(str, digits)).strip("0")
    if not stripped:
        return Decimal(0)
    trailing = len(digits) - len("".join(map(str, digits)).rstrip("0"))
    scale = int(exponent) + trailing
    if len(stripped) > _MOST_DIGITS or abs(scale + len(stripped) - 1) > _FARTHEST_EXPONENT:
        raise ValueError(f"expected at most {_MOST_DIGITS} digits and an exponent within {_FARTHEST_EXPONENT}")
    return Decimal((sign, tuple(map(int, stripped)), scale))


def is_whole(number: Decimal) -> bool:
    """Whether it is an integer, of any size; no context is asked.

    Raises: ValueError as `exact_number`.
    """
    return int(normal(number).as_tuple().exponent) >= 0


def spell(number: Decimal) -> str:
    """The one spelling of a value: plain digits from 1e-7 up to 1e21, else d.ddde±n.

    Raises: ValueError as `exact_number`.
    """
    value = normal(number)
    if not value:
        return "0"
    if _PLAIN_DOWN_TO <= value.adjusted() < _PLAIN_UP_TO:
        return f"{value:f}"
    sign, digits, _ = value.as_tuple()
    head, tail = str(digits[0]), "".join(map(str, digits[1:]))
    return f"{'-' if sign else ''}{head}{'.' if tail else ''}{tail}e{value.adjusted()}"
