"""Framing: byte strings put side by side so that no two lists of them look alike."""

from typing import Final

__all__ = ["framed", "lp", "unframed"]

LENGTH_BYTES: Final = 4


def lp(part: bytes) -> bytes:
    """The length of part in 4 big-endian bytes, then part.

    Raises: TypeError for anything but bytes, OverflowError for 4 GiB and more.
    """
    if not isinstance(part, bytes):
        raise TypeError(f"framing takes bytes, not {type(part).__name__}")
    return len(part).to_bytes(LENGTH_BYTES, "big") + part


def framed(label: bytes, *parts: bytes) -> bytes:
    """lp(label), then lp of each part: what HKDF's info and a wrap's context are made of."""
    return lp(label) + b"".join(map(lp, parts))


def unframed(data: bytes) -> list[bytes]:
    """The label and the parts that framed() put side by side. Raises: ValueError if it never gave such bytes."""
    parts: list[bytes] = []
    while data:
        end = LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES], "big")
        if len(data) < max(end, LENGTH_BYTES):
            raise ValueError("bytes that were never framed: they end before their length says")
        parts.append(data[LENGTH_BYTES:end])
        data = data[end:]
    return parts
