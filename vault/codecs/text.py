"""str/1: text as UTF-8, exactly as given, NUL and unnormalised spellings included.

A subclass of str (numpy.str_, a str Enum) stands for the characters it holds.
"""

from collections.abc import Sequence

from vault.codec import Codec
from vault.errors import InvalidValueError

__all__ = ["STR"]


def encode(value: object) -> bytes:
    """Raises: InvalidValueError for anything but str, and for a lone surrogate."""
    try:
        if type(value) is str:
            return value.encode()
        if not isinstance(value, str):
            raise InvalidValueError(f"str/1 holds str, not {type(value).__name__}")
        return str.encode(value)
    except UnicodeEncodeError:
        pass  # that error carries the text: ours is raised outside of it, so that nothing is chained
    raise InvalidValueError("the text has a lone surrogate, which no UTF-8 can hold: repair the text where it is read")


def decode_many(parts: Sequence[bytes]) -> list[str]:
    """Raises: ValueError for bytes that are not UTF-8."""
    return list(map(bytes.decode, parts))


STR = Codec("str/1", encode, bytes.decode, encode, decode_many)
