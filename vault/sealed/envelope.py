"""Sealed value: the bytes that stand in a sealed column.

| 01 | generation, 1 | key id, 4 | nonce, 12 | ciphertext, n | tag, 16 |

The first six bytes are the header; the whole is 34 bytes longer than the plaintext.
"""

from dataclasses import dataclass
from typing import Final

from kms.framing import lp
from vault.errors import NotSealedError

__all__ = ["FORMAT", "HEADER_BYTES", "OVERHEAD_BYTES", "SealedValue", "associated_data", "header", "looks_sealed"]

FORMAT: Final = 0x01
HEADER_BYTES: Final = 6
KEY_ID_BYTES: Final = 4
# NIST SP 800-38D, 8.2.2: random 96-bit IVs; 5.2.1.2: the longest tag.
SP_800_38D_IV_BYTES: Final = 12
SP_800_38D_TAG_BYTES: Final = 16
BODY_OFFSET: Final = HEADER_BYTES + SP_800_38D_IV_BYTES
OVERHEAD_BYTES: Final = BODY_OFFSET + SP_800_38D_TAG_BYTES


@dataclass(frozen=True, slots=True)
class SealedValue:
    """A sealed value taken apart. body: ciphertext and tag."""

    generation: int
    key_id: bytes
    nonce: bytes
    body: bytes

    def __post_init__(self) -> None:
        if not 0 <= self.generation <= 255:
            raise ValueError("a generation is 0 to 255")
        if len(self.key_id) != KEY_ID_BYTES or not any(self.key_id):
            raise ValueError("a key id is 4 bytes, not all zero")
        if len(self.nonce) != SP_800_38D_IV_BYTES or len(self.body) < SP_800_38D_TAG_BYTES:
            raise ValueError("a nonce is 12 bytes, and a body at least the 16 of its tag")

    @classmethod
    def parse(cls, data: bytes) -> "SealedValue":
        """Take the bytes apart, without a key. What parses serialises back to the same bytes.

        Raises: NotSealedError.
        """
        if not looks_sealed(data):
            raise NotSealedError("these bytes are not a sealed value: a write must have gone around the vault")
        return cls(data[1], data[2:HEADER_BYTES], data[HEADER_BYTES:BODY_OFFSET], data[BODY_OFFSET:])

    def serialise(self) -> bytes:
        """The stored bytes."""
        return header(self.generation, self.key_id) + self.nonce + self.body


def looks_sealed(data: object) -> bool:
    """Whether data is bytes with a sealed value's format, a key id and at least its 34 bytes.

    It is no proof: only opening tells.
    """
    return (
        isinstance(data, bytes)
        and len(data) >= OVERHEAD_BYTES
        and data[0] == FORMAT
        and data[2:HEADER_BYTES] != b"\0\0\0\0"
    )


def header(generation: int, key_id: bytes) -> bytes:
    """The first six bytes: which definition and which key."""
    return bytes((FORMAT, generation)) + key_id


def associated_data(head: bytes, codec_id: str, row_context: bytes = b"") -> bytes:
    """What the tag binds beside the ciphertext; table and column are bound by the key."""
    return head + lp(codec_id.encode()) + lp(row_context)
