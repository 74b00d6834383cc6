"""Blind index term: the bytes that stand in an index column, equal when two values are.

| generation, 1 | key id of the index key, 4 | leftmost bits of HMAC-SHA-256, zero-padded to bytes |
"""

import hmac
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Final

from kms.framing import lp
from kms.secret import SecretKey
from vault.codec import Codec
from vault.codecs.text import STR
from vault.errors import DefinitionError
from vault.normalise import Normaliser, exact
from vault.terms.slow import OWASP_ARGON2ID, Argon2id

__all__ = [
    "RFC_2104_SHA_256_BITS",
    "BlindIndex",
    "asked_encoding",
    "compound_input",
    "equality_encoding",
    "leftmost",
    "term",
    "term_prefix",
]

RFC_2104_SHA_256_BITS: Final = 256
TERM_PREFIX_BYTES: Final = 5


@dataclass(frozen=True, slots=True)
class BlindIndex:
    """How a field is looked up by equality.

    normaliser: what is compared: exact, trimmed, casefold, digits, email, phone("GB"), one that was registered; or one
    that keeps a part: last_four, email_domain, year, month.
    bits: 256 answers ==; fewer hide more. What fewer bits or a part find is opened and compared, by find(), find_all().
    name: of the index in its field. scope: the name of the key that columns share to be joined, in place of a key of
    its own. slow: stretch each value by argon2id (True: 19 MiB, two passes), 20 to 50 ms each, written or asked.
    keyring: the name of another keyring than the field's, whose key makes the terms: for look-ups over tenants. Then
    equal values of different tenants show that they are equal.
    low_entropy: insist on an index of a column that has only a handful of values, which it shows almost openly.
    """

    normaliser: Normaliser = exact
    bits: int = RFC_2104_SHA_256_BITS
    name: str = "bidx"
    _: KW_ONLY
    keyring: str | None = None
    scope: str | None = None
    slow: Argon2id | bool | None = None
    low_entropy: bool = field(default=False, compare=False)  # decides no stored bytes

    def __post_init__(self) -> None:
        if not isinstance(self.normaliser, Normaliser):
            raise DefinitionError(
                "an index takes a normaliser: exact, trimmed, digits or casefold, or another of vault"
            )
        check_width(self.bits)
        if not isinstance(self.name, str) or not self.name or "." in self.name:
            raise DefinitionError(f"an index needs a name without dots, not {self.name!r}")
        if self.keyring is not None and (not isinstance(self.keyring, str) or not self.keyring):
            raise DefinitionError(f"an index lives in a keyring that is named by a text, not by {self.keyring!r}")
        if self.keyring is not None and self.scope is not None:
            raise DefinitionError(
                "an index is shared in the keyring of its field (scope=) or lives in one of its own (keyring=), not"
                " both: declare an index for each"
            )
        object.__setattr__(self, "slow", slow_hash(self.slow))

    def __repr__(self) -> str:
        """What differs from the usual index is added."""
        said = f"normaliser={self.normaliser!r}, bits={self.bits}, name={self.name!r}"
        added = [
            f"{name}={value!r}"
            for name in ("keyring", "scope", "slow", "low_entropy")
            if (value := getattr(self, name))
        ]
        return f"BlindIndex({', '.join([said, *added])})"

    @property
    def truncated(self) -> bool:
        """Whether unequal values may have equal terms because few bits are kept."""
        return self.bits < RFC_2104_SHA_256_BITS

    @property
    def answers_equality(self) -> bool:
        """Whether equal terms mean equal (normalised) values, so that the database may compare them."""
        return not self.truncated and not self.normaliser.partial

    @property
    def term_bytes(self) -> int:
        """The length of its terms."""
        return term_bytes(self.bits)

    @property
    def argon2id(self) -> Argon2id | None:
        """What stretches its values, if anything does."""
        return self.slow if isinstance(self.slow, Argon2id) else None


def check_width(bits: object) -> None:
    """Raises: DefinitionError unless an index can have so many bits."""
    if type(bits) is not int or not 1 <= bits <= RFC_2104_SHA_256_BITS:
        raise DefinitionError(f"an index has 1 to 256 bits, not {bits!r}")


def slow_hash(slow: object) -> Argon2id | None:
    """What slow= means. Raises: DefinitionError."""
    if slow is None or slow is False:
        return None
    if slow is True:
        return OWASP_ARGON2ID
    if isinstance(slow, Argon2id):
        return slow
    raise DefinitionError(f"slow= is True, or Argon2id(memory_kib=, iterations=, lanes=), not {slow!r}")


def term_bytes(bits: int) -> int:
    """The length of a term of so many bits."""
    return TERM_PREFIX_BYTES + (bits + 7) // 8


def equality_encoding(codec: Codec, normaliser: Normaliser) -> Callable[[object], bytes | None]:
    """The function from a value to what the term's HMAC is computed of; None where a partial normaliser finds no part.

    It raises InvalidValueError, without a place, for what the codec cannot hold or the normaliser not read.
    """
    if not normaliser.codecs:
        return codec.equality
    normalise, of_text = normaliser.apply, STR.equality

    def equality(value: object) -> bytes | None:
        # Encoded first: what cannot be stored is refused even where the normaliser would drop it.
        text = normalise(codec.decode(codec.encode(value)))
        return None if text is None else of_text(text)

    return equality


def asked_encoding(codec: Codec, normaliser: Normaliser) -> Callable[[object], bytes | None]:
    """As equality_encoding, for what is asked for: of a partial normaliser that is a part, or a value that has it."""
    part = normaliser.asked
    if part is None:
        return equality_encoding(codec, normaliser)
    return lambda asked: STR.equality(part(asked))


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


def compound_input(parts: Sequence[bytes | None]) -> bytes | None:
    """The HMAC input of an index over several columns: lp of each part's equality encoding; None when one is NULL."""
    if any(part is None for part in parts):
        return None
    return b"".join(lp(part) for part in parts if part is not None)
