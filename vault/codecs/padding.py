"""Padding: a codec whose stored bytes hide how long the value is. `str/1+pad64`, `str/1+fix256`.

    storage   the codec's own storage encoding || 80 || as many 00 as it takes (ISO/IEC 7816-4)

+padN: up to the next multiple of N bytes. +fixN: up to N bytes, and what does not fit is refused. The equality
encoding is the codec's own, so that terms do not depend on padding.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, Literal

from vault.codec import Codec
from vault.errors import DefinitionError, InvalidValueError

__all__ = ["LARGEST", "padded", "padded_length", "padding_suffix", "unpadded_id"]

ISO_7816_4_MARK: Final = b"\x80"
# Ours: beyond it, padding is not what hides a length.
LARGEST: Final = 2**20
_SUFFIX: Final = re.compile(r"(pad|fix)([1-9][0-9]{0,6})", re.ASCII)

Rule = Literal["pad", "fix"]


def padding_suffix(pad: int | None, width: int | None) -> str:
    """What a declaration adds to its codec's id. Raises: DefinitionError."""
    if pad is not None and width is not None:
        raise DefinitionError("a length is hidden by pad= or by width=, not by both")
    if pad is None and width is None:
        return ""
    name, size = ("pad", pad) if width is None else ("width", width)
    if type(size) is not int or not 2 <= size <= LARGEST:
        raise DefinitionError(f"{name}= is a number of bytes from 2 to {LARGEST}, not {size!r}")
    return f"+{'pad' if width is None else 'fix'}{size}"


def unpadded_id(codec_id: str) -> str:
    """The id of the codec whose encoding is padded, which says what values are and when they are equal."""
    return codec_id.partition("+")[0]


def padded_length(suffix: str, longest: int | None) -> int | None:
    """How long the longest padded encoding is, if the codec's own has at most so many bytes; None for any length."""
    if not suffix:
        return longest
    rule, size = _rule_of(suffix)
    if rule == "fix":
        return size
    return None if longest is None else (longest // size + 1) * size


@lru_cache
def padded(codec: Codec, suffix: str) -> Codec:
    """The codec with its padding. Raises: DefinitionError for another suffix, or where all lengths are one."""
    rule, size = _rule_of(suffix)
    if codec.width is not None:
        raise DefinitionError(f"all values of {codec.id} are stored in {codec.width} bytes: leave pad= and width= out")

    def encode(value: object) -> bytes:
        data = codec.encode(value) + ISO_7816_4_MARK
        if rule == "fix" and len(data) > size:
            raise InvalidValueError(f"the value takes more than the {size - 1} bytes that width={size} leaves it")
        return data + bytes(-len(data) % size)

    def unpad(data: bytes) -> bytes:
        """Raises: ValueError unless the padding is the one that encode makes."""
        kept = data.rstrip(b"\0")
        if not kept.endswith(ISO_7816_4_MARK) or len(data) % size or len(data) - len(kept) >= size:
            raise ValueError("the padding is not the codec's")
        if rule == "fix" and len(data) != size:
            raise ValueError("the padding is not the codec's")
        return kept[:-1]

    def decode(data: bytes) -> Any:
        return codec.decode(unpad(data))

    def decode_many(parts: Sequence[bytes]) -> list[Any]:
        return codec.decode_many([unpad(part) for part in parts])

    return Codec(f"{codec.id}{suffix}", encode, decode, codec.equality, decode_many, size if rule == "fix" else None)


def _rule_of(suffix: str) -> tuple[Rule, int]:
    found = _SUFFIX.fullmatch(suffix[1:])
    if found is None or not 2 <= int(found[2]) <= LARGEST:
        raise DefinitionError(f"there is no padding {suffix!r}; there are +padN and +fixN, N from 2 to {LARGEST} bytes")
    return ("pad" if found[1] == "pad" else "fix"), int(found[2])
