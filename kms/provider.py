"""Key provider: the seam to whatever holds a key-encryption key (KEK) and never shows it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import Final, Protocol, runtime_checkable

from kms.framing import framed
from kms.secret import SecretKey

__all__ = [
    "KEYRING_ID_BYTES",
    "KEY_ID_BYTES",
    "DestroysKek",
    "KekEnd",
    "KeyProvider",
    "KnowsKeks",
    "NamesNewest",
    "Opens",
    "Rewraps",
    "Wrapped",
    "wrap_context",
]

KEYRING_ID_BYTES: Final = 16
KEY_ID_BYTES: Final = 4
SEQUENCE_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A data key as its KEK wrapped it.

    kek: the exact key, never only the alias it was asked for. kek_version: the service's own word for it.
    """

    ciphertext: bytes = field(repr=False)
    kek: str
    kek_version: str


class KeyProvider(Protocol):
    """Wraps and unwraps data keys under a KEK that never leaves it. Safe to share between threads."""

    def wrap(self, key: SecretKey, context: bytes) -> Wrapped:
        """The key under the KEK's newest version, bound to context.

        Raises: KmsError (UnavailableError, LoginExpiredError, AccessDeniedError, KeyNotFoundError,
        KeyDisabledError, MisconfiguredError).
        """
        ...

    def unwrap(self, wrapped: Sequence[tuple[Wrapped, bytes]]) -> list[SecretKey]:
        """The keys of (wrapped, context) pairs, in order, in as few calls as the service allows.

        All or nothing. Raises: as wrap, and CannotUnwrapError or KeyVersionRetiredError if one of them does not
        open; only UnavailableError means that the same call may succeed later without anyone doing anything.
        """
        ...


@runtime_checkable
class Rewraps(Protocol):
    """A provider that moves wrapped keys to its newest KEK, or KEK version, without showing them to us."""

    def rewrap(self, wrapped: Sequence[tuple[Wrapped, bytes]]) -> list[Wrapped]:
        """Each (wrapped, context) pair anew, in order, bound to the same context. What was given still unwraps.

        All or nothing. Raises: as KeyProvider.unwrap.
        """
        ...


class Opens(IntEnum):
    """How sure a provider is that a KEK, as a stored row names it, is one that it asks."""

    NO = 0
    PERHAPS = 1  # the same key may go by two names: a host renamed, a token that is not there to be asked
    SURELY = 2


@runtime_checkable
class KnowsKeks(Protocol):
    """A provider that can say whether keys wrapped by a KEK are to be unwrapped by it."""

    def opens(self, kek: str) -> Opens:
        """kek: the exact key that a row records. Raises nothing: an outage makes it PERHAPS at most."""
        ...


@dataclass(frozen=True, slots=True)
class KekEnd:
    """When a KEK is gone for good. effective: aware UTC; until then it can be had back.

    final: whether nobody can unwrap by it then. remains: which copies this does not reach, in words.
    """

    kek: str
    effective: datetime
    final: bool
    remains: str = ""


@runtime_checkable
class DestroysKek(Protocol):
    """A provider that can destroy the very KEK that a stored row names, and be asked to again after it did."""

    def require_destroyable(self, kek: str) -> None:
        """Nothing, if destroy_kek() would do it or did. Raises: as KeyProvider.wrap; CannotUnwrapError if it is not
        surely the KEK that this provider opens; MisconfiguredError, saying what to type, where it is guarded.
        """
        ...

    def destroy_kek(self, kek: str, *, waiting_days: int, now: datetime) -> KekEnd:
        """Destroy it, after a waiting period where the service has one. Raises: as require_destroyable."""
        ...


@runtime_checkable
class NamesNewest(Protocol):
    """A provider that can say, before it wraps, by which KEK and version it would."""

    def newest(self) -> tuple[str, str]:
        """The exact KEK and its version, as wrap() would record them now. Raises: as KeyProvider.wrap."""
        ...


def wrap_context(keyring_id: bytes, purpose: str, key_id: bytes, sequence: int) -> bytes:
    """The place a wrapped key belongs to: keyring (16 bytes), purpose, key id (4) and sequence (8, big-endian).

    Raises: ValueError for ids of another size, a purpose that is not plain ASCII, or a sequence below 1.
    """
    if len(keyring_id) != KEYRING_ID_BYTES or len(key_id) != KEY_ID_BYTES:
        raise ValueError(f"a keyring id is {KEYRING_ID_BYTES} bytes and a key id {KEY_ID_BYTES}")
    if sequence < 1 or sequence >= 2 ** (8 * SEQUENCE_BYTES):
        raise ValueError(f"sequences begin with 1, not {sequence}")
    return framed(
        b"noisevault/1 wrap", keyring_id, purpose.encode("ascii"), key_id, sequence.to_bytes(SEQUENCE_BYTES, "big")
    )
