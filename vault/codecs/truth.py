"""bool/1: a truth value as one byte, 00 or 01."""

from collections.abc import Sequence
from typing import Final

from vault.codec import Codec
from vault.codecs.numpy_scalar import is_numpy_scalar
from vault.errors import InvalidValueError

__all__ = ["BOOL"]

_BYTE: Final = {False: b"\0", True: b"\1"}
_TRUTH: Final = {b"\0": False, b"\1": True}


def encode(value: object) -> bytes:
    """Raises: InvalidValueError for anything but bool and numpy.bool_; 0 and 1 are integers."""
    if not (isinstance(value, bool) or is_numpy_scalar(value, "bool_")):
        raise InvalidValueError(f"bool/1 holds bool, not {type(value).__name__}")
    return _BYTE[bool(value)]


def decode(data: bytes) -> bool:
    """Raises: ValueError unless it is 00 or 01."""
    truth = _TRUTH.get(data)
    if truth is None:
        raise ValueError("bool/1 is 00 or 01")
    return truth


def decode_many(parts: Sequence[bytes]) -> list[bool]:
    """Raises: ValueError unless each is 00 or 01."""
    return list(map(decode, parts))


BOOL = Codec("bool/1", encode, decode, encode, decode_many, width=1)
