"""Codec: how one kind of value becomes bytes, once to be stored and once to be compared.

A codec id ("str/1") is frozen with its two encodings: another encoding is another id.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Codec"]


@dataclass(frozen=True, slots=True)
class Codec:
    """The four functions of one codec id.

    encode(value) -> storage bytes; equality(value) -> bytes that are equal when the values are.
    Both raise InvalidValueError, without a place and without the value, for what the codec cannot hold.
    decode(storage bytes) -> value; decode_many(list of them) -> list of values, in order.
    Both raise ValueError for bytes that encode does not make.
    width: the bytes of each storage encoding; None where it depends on the value.
    """

    id: str
    encode: Callable[[object], bytes]
    decode: Callable[[bytes], Any]
    equality: Callable[[object], bytes]
    decode_many: Callable[[Sequence[bytes]], list[Any]]
    width: int | None = None
