"""Blind index term: the bytes that stand in an index column, equal when two values are.

| generation, 1 | key id of the index key, 4 | leftmost bits of HMAC-SHA-256, zero-padded to bytes |
"""

import hmac
from dataclasses import dataclass
from typing import Final

from kms.framing import lp
from kms.secret import SecretKey
from vault.errors import DefinitionError
from vault.normalise import Normaliser, exact

__all__ = ["RFC_2104_SHA_256_BITS", "BlindIndex", "compound_input", "leftmost", "term", "term_prefix"]

RFC_2104_SHA_256_BITS: Final = 256
TERM_PREFIX_BYTES: Final = 5


@dataclass(frozen=True, slots=True)
class BlindIndex:
    """How a field is looked up by equality. bits: 256 answers ==; fewer hide more, and what they find is compared.

    keyring: the name of another keyring than the field's, whose key makes the terms: for look-ups over tenants. Then
    equal values of different tenants show that they are equal.
    """

    normaliser: Normaliser = exact
    bits: int = RFC_2104_SHA_256_BITS
    name: str = "bidx"
    keyring: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.normaliser, Normaliser):
            raise DefinitionError("an index takes a normaliser: exact, trimmed, digits or casefold")
        if type(self.bits) is not int or not 1 <= self.bits <= RFC_2104_SHA_256_BITS:
            raise DefinitionError(f"an index has 1 to 256 bits, not {self.bits!r}")
        if not isinstance(self.name, str) or not self.name or "." in self.name:
            raise DefinitionError(f"an index needs a name without dots, not {self.name!r}")
        if self.keyring is not None and (not isinstance(self.keyring, str) or not self.keyring):
            raise DefinitionError(f"an index lives in a keyring that is named by a text, not by {self.keyring!r}")

    @property
    def truncated(self) -> bool:
        """Whether unequal values may have equal terms by design."""
        return self.bits < RFC_2104_SHA_256_BITS

    @property
    def term_bytes(self) -> int:
        """The length of its terms."""
        return TERM_PREFIX_BYTES + (self.bits + 7) // 8


def term(key: SecretKey, generation: int, key_id: bytes, equality: bytes, bits: int = RFC_2104_SHA_256_BITS) -> bytes:
    """The term of one equality encoding. key: derived for the index, from the index key named by key_id.

    Source: RFC 2104 with SHA-256.
    """
    return term_prefix(generation, key_id) + leftmost(hmac.digest(key.raw, equality, "sha256"), bits)


def term_prefix(generation: int, key_id: bytes) -> bytes:
    """The first five bytes: which definition and which index key."""
    return bytes((generation,)) + key_id


def leftmost(digest: bytes, bits: int) -> bytes:
    """The first bits of digest, in the fewest bytes, what is left over being zero."""
    if bits == RFC_2104_SHA_256_BITS:
        return digest
    whole, rest = divmod(bits, 8)
    if not rest:
        return digest[:whole]
    return digest[:whole] + bytes((digest[whole] & (0xFF00 >> rest) & 0xFF,))


def compound_input(parts: list[bytes | None]) -> bytes | None:
    """The HMAC input of an index over several columns: lp of each part's equality encoding; None when one is NULL."""
    if any(part is None for part in parts):
        return None
    return b"".join(lp(part) for part in parts if part is not None)
