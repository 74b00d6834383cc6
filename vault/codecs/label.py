"""enum/1: one of a fixed set of labels as UTF-8. A member of an Enum stands for its name, and comes back as that text.

Which labels there are, and which member each is, is for the declared column type to say: members may be added.
"""

from enum import Enum

from vault.codec import Codec
from vault.codecs.text import STR
from vault.errors import InvalidValueError

__all__ = ["ENUM"]


def encode(value: object) -> bytes:
    """Raises: InvalidValueError for anything but a member of an Enum and a text that UTF-8 can hold."""
    if isinstance(value, Enum):
        value = value.name
    if not isinstance(value, str):
        raise InvalidValueError(f"enum/1 holds a label or an Enum's member, not {type(value).__name__}")
    return STR.encode(value)


ENUM = Codec("enum/1", encode, STR.decode, encode, STR.decode_many)
