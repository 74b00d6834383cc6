"""decimal/1: a decimal number as the text that str() gives, trailing zeros, exponent and sign of zero included.

Equality is numeric and asks no context: `[-]digits E exponent` without zeros at either end of the digits, so that
1.0, 1.00 and 1E+0 have one encoding, and -0 that of 0.
"""

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Final

from vault.codec import Codec
from vault.codecs.integer import exact_int
from vault.errors import InvalidValueError

__all__ = ["DECIMAL", "exact_decimal", "normal_form"]

# The farthest that other implementations agree on; below it Python has subnormal numbers.
FARTHEST: Final = 999_999_999_999_999_999


def exact_decimal(value: object) -> Decimal:
    """The Decimal that a Decimal or an integer stands for.

    Raises: InvalidValueError for anything else, float and text included, and for a signalling NaN.
    """
    if not isinstance(value, Decimal):
        number = exact_int(value)
        if number is None:
            raise InvalidValueError(f"decimal/1 holds Decimal or int, not {type(value).__name__}")
        return Decimal(number)
    if Decimal.is_snan(value):
        raise InvalidValueError("a signalling NaN cannot be compared, not even by the ORM: store a quiet NaN")
    if value.is_finite() and abs(value.adjusted()) > FARTHEST:
        raise InvalidValueError(f"decimal/1 holds numbers within 1E-{FARTHEST} and 1E+{FARTHEST}")
    return value


def normal_form(number: Decimal) -> tuple[str, int]:
    """Digits without zeros at either end, and the exponent of the last; ("", 0) for zero. For a finite number."""
    _, given, exponent = number.as_tuple()
    digits = "".join(map(str, given)).lstrip("0")
    kept = digits.rstrip("0")
    return (kept, int(exponent) + len(digits) - len(kept)) if kept else ("", 0)


def encode(value: object) -> bytes:
    """Raises: InvalidValueError for what is not exactly a Decimal."""
    return _text(exact_decimal(value)).encode()


def equality(value: object) -> bytes:
    """Raises: InvalidValueError for NaN too."""
    number = exact_decimal(value)
    if number.is_nan():
        raise InvalidValueError("NaN cannot be indexed: it equals nothing, itself included")
    if number.is_infinite():
        return _text(number).encode()
    digits, exponent = normal_form(number)
    if not digits:
        return b"0"
    return f"{'-' if number.is_signed() else ''}{digits}E{exponent}".encode()


def decode(data: bytes) -> Decimal:
    """Raises: ValueError for text that str() of a Decimal does not give."""
    text = data.decode("ascii")
    try:
        number = Decimal(text)
    except InvalidOperation:
        pass
    else:
        if _is_ours(number) and _text(number) == text:
            return number
    raise ValueError("decimal/1 is the text that str() of a Decimal gives")


def decode_many(parts: Sequence[bytes]) -> list[Decimal]:
    """Raises: ValueError as decode."""
    return list(map(decode, parts))


def _is_ours(number: Decimal) -> bool:
    try:
        exact_decimal(number)
    except InvalidValueError:
        return False
    return True


def _text(number: Decimal) -> str:
    """As str(), whatever a subclass overrides, and with E as the exponent's sign whatever the context says."""
    return Decimal.__str__(number).replace("e", "E")


DECIMAL = Codec("decimal/1", encode, decode, equality, decode_many)
