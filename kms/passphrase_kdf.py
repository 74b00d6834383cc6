"""Passphrase KDF: from a passphrase and a salt to a key, by a function whose cost has a floor and a ceiling.

The parameters come from a file. A hostile one must not make its reader allocate 100 GB or compute for a day, and a
careless one must not cost a guesser nothing.
"""

import unicodedata
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar, Final

from cryptography.hazmat.primitives.kdf.argon2 import Argon2id as _Argon2id
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt as _Scrypt

from kms.errors import KeyFileError
from kms.secret import SecretKey, SecretText

__all__ = ["RFC_9106_LOW_MEMORY", "RFC_9106_SALT_BYTES", "SCRYPT_128_MIB", "Argon2id", "PassphraseKdf", "Scrypt"]

# RFC 9106, section 3.1: 16 bytes of salt suffice.
RFC_9106_SALT_BYTES: Final = 16
DERIVED_KEY_BYTES: Final = 32
KIB: Final = 1024
# Ours: the least is the smallest memory that OWASP's Password Storage Cheat Sheet names for argon2id; the most
# covers RFC 9106's first choice (2 GiB, one pass); the work is memory times passes, some ten seconds of one core.
MEMORY_MIN_KIB: Final = 7 * 1024
MEMORY_MAX_KIB: Final = 2 * 1024 * 1024
WORK_MAX_KIB: Final = 4 * 1024 * 1024
LANES_MAX: Final = 16


@dataclass(frozen=True, slots=True)
class Scrypt:
    """RFC 7914. n: cost, a power of two. r: block size, in units of 128 bytes. p: passes, one after the other."""

    name: ClassVar[str] = "scrypt"
    n: int
    r: int
    p: int

    def __post_init__(self) -> None:
        _require_positive(self.n, self.r, self.p)
        if self.n & (self.n - 1):
            raise KeyFileError("scrypt's n is a power of two")
        _require_cost(memory_kib=128 * self.n * self.r // KIB, passes=self.p)

    def derive(self, passphrase: SecretText, salt: bytes) -> SecretKey:
        """32 bytes of key. Needs 128 * n * r bytes of memory."""
        kdf = _Scrypt(salt=salt, length=DERIVED_KEY_BYTES, n=self.n, r=self.r, p=self.p)
        return SecretKey(kdf.derive(encoded(passphrase)))


@dataclass(frozen=True, slots=True)
class Argon2id:
    """RFC 9106. memory_kib: KiB in all. iterations: passes over them. lanes: how many can work at once."""

    name: ClassVar[str] = "argon2id"
    memory_kib: int
    iterations: int
    lanes: int

    def __post_init__(self) -> None:
        _require_positive(self.memory_kib, self.iterations, self.lanes)
        if self.lanes > LANES_MAX:
            raise KeyFileError(f"argon2id has at most {LANES_MAX} lanes here")
        _require_cost(memory_kib=self.memory_kib, passes=self.iterations)

    def derive(self, passphrase: SecretText, salt: bytes) -> SecretKey:
        """32 bytes of key."""
        kdf = _Argon2id(
            salt=salt,
            length=DERIVED_KEY_BYTES,
            iterations=self.iterations,
            lanes=self.lanes,
            memory_cost=self.memory_kib,
        )
        return SecretKey(kdf.derive(encoded(passphrase)))


PassphraseKdf = Scrypt | Argon2id


def encoded(passphrase: SecretText) -> bytes:
    """UTF-8 of the text in NFC, so that keyboards that compose letters otherwise give the same key (RFC 8265, 4.2).

    Raises: KeyFileError for text with bytes in it that the terminal's encoding does not know.
    """
    with suppress(UnicodeEncodeError):  # which holds the text
        return unicodedata.normalize("NFC", passphrase.reveal()).encode()
    raise KeyFileError("the passphrase has bytes in it that are no text: type it on a terminal that is set to UTF-8")


def _require_positive(*numbers: int) -> None:
    if not all(type(number) is int and number > 0 for number in numbers):
        raise KeyFileError("the parameters of a passphrase's function are integers above 0")


def _require_cost(memory_kib: int, passes: int) -> None:
    if not MEMORY_MIN_KIB <= memory_kib <= MEMORY_MAX_KIB:
        raise KeyFileError(
            f"a passphrase's function uses {MEMORY_MIN_KIB} to {MEMORY_MAX_KIB} KiB of memory, not {memory_kib}"
        )
    if memory_kib * passes > WORK_MAX_KIB:
        raise KeyFileError(f"a passphrase's function works through at most {WORK_MAX_KIB} KiB in all its passes")


# RFC 9106, section 4: the second recommended option.
RFC_9106_LOW_MEMORY: Final = Argon2id(memory_kib=64 * 1024, iterations=3, lanes=4)
# OWASP Password Storage Cheat Sheet: the first of its choices for scrypt.
SCRYPT_128_MIB: Final = Scrypt(n=2**17, r=8, p=1)
