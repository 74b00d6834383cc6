"""Keys as the ledger sees them: something that seals, and something that computes a MAC. It never sees the key."""

from typing import Protocol


class Mac(Protocol):
    """One HMAC key: 32 bytes out, deterministic."""

    @property
    def key_id(self) -> bytes:
        """Names the key. The same bytes never name another one."""
        ...

    def compute(self, message: bytes) -> bytes: ...


class AuditMacs(Protocol):
    """The keys of the audit log: entries are signed with the newest and checked with the one they name."""

    def newest(self) -> Mac: ...

    def by_id(self, key_id: bytes) -> Mac:
        """Raises LookupError when there is no such key."""
        ...


class Sealer(Protocol):
    """Authenticated encryption with associated data. Sealed bytes name their own key."""

    def seal(self, plaintext: bytes, aad: bytes) -> bytes: ...

    def open(self, sealed: bytes, aad: bytes) -> bytes:
        """Raises an exception, whichever, when the bytes do not authenticate under this aad."""
        ...
