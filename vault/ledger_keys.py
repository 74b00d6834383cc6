"""Ledger keys: what the ledger of dp is handed instead of a key, made from the keyring's "ledger" keys.

The audit log is signed under the active key; each entry names its key. The question key is the first ledger key's
for ever, so that a repeated question is known after a rotation. Sealed texts and answers name their key:

    | 01 | key id, 4 | nonce, 12 | AES-256-GCM ciphertext, n | tag, 16 |    AAD: the first 5 bytes, lp(the ledger's AAD)
"""

import hmac
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from kms import (
    DataKey,
    KeyDestroyedError,
    KeyRetiredError,
    Keyring,
    KmsError,
    Purpose,
    SecretKey,
    UnknownKeyIdError,
    forget_in_child,
    framed,
    ledger_key,
    lp,
)
from vault.errors import CannotOpenError

FORMAT: Final = b"\x01"
HEAD: Final = 5
SP_800_38D_IV_BYTES: Final = 12
LABEL: Final = "noisevault_ledger.sealed"
# Ours: seals are counted ahead by this many.
BLOCK_SEALS: Final = 64


@dataclass(frozen=True, slots=True)
class LedgerMac:
    """HMAC-SHA-256 under one key, named by the id of the data key that it comes from."""

    key_id: bytes
    key: SecretKey

    def compute(self, message: bytes) -> bytes:
        return hmac.digest(self.key.raw, message, "sha256")


def question_mac(keyring: Keyring) -> LedgerMac:
    """By which a question is found again: it never rotates."""
    first = keyring.first(Purpose.LEDGER)
    return LedgerMac(first.key_id, ledger_key(first.secret, keyring.id, "question"))


def tie_break_salt(keyring: Keyring, dataset: str) -> bytes:
    """The dataset's fixed salt, for ever the same."""
    return question_mac(keyring).compute(framed(b"noisevault/1 tie-break salt", dataset.encode()))


@dataclass(frozen=True, slots=True)
class LedgerAuditMacs:
    """The keys that sign the audit log."""

    keyring: Keyring

    def newest(self) -> LedgerMac:
        return self._mac(self.keyring.sealing(Purpose.LEDGER).key)

    def by_id(self, key_id: bytes) -> LedgerMac:
        """Raises: LookupError for an id that the keyring does not open."""
        try:
            return self._mac(self.keyring.opening(Purpose.LEDGER, key_id))
        except (UnknownKeyIdError, KeyDestroyedError, KeyRetiredError):
            raise LookupError("the keyring has no such ledger key") from None

    def _mac(self, key: DataKey) -> LedgerMac:
        return LedgerMac(key.key_id, ledger_key(key.secret, self.keyring.id, "audit"))


class LedgerSealer:
    """Seals the texts and answers that the ledger stores. Shared by threads."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring
        self.forget_after_fork()
        forget_in_child(self)

    def forget_after_fork(self) -> None:
        """Counted seals are the parent's."""
        self._lock = threading.Lock()
        self._counted: tuple[bytes, Iterator[bool]] = (b"", iter(()))

    def seal(self, plaintext: bytes, aad: bytes) -> bytes:
        """Raises: KmsError."""
        key = self._keyring.sealing(Purpose.LEDGER).key
        self._count_one(key.key_id)
        head, nonce = FORMAT + key.key_id, os.urandom(SP_800_38D_IV_BYTES)
        return head + nonce + self._cipher(key).encrypt(nonce, plaintext, head + lp(aad))

    def open(self, sealed: bytes, aad: bytes) -> bytes:
        """Raises: CannotOpenError."""
        head, nonce, body = sealed[:HEAD], sealed[HEAD : HEAD + SP_800_38D_IV_BYTES], sealed[HEAD + 12 :]
        try:
            if head[:1] == FORMAT:
                cipher = self._cipher(self._keyring.opening(Purpose.LEDGER, head[1:]))
                return cipher.decrypt(nonce, body, head + lp(aad))
        except (InvalidTag, ValueError, KmsError):
            pass
        raise CannotOpenError("noisevault_ledger", "sealed", head[1:].hex())

    def _cipher(self, key: DataKey) -> AESGCM:
        return AESGCM(ledger_key(key.secret, self._keyring.id, "answer").raw)

    def _count_one(self, key_id: bytes) -> None:
        with self._lock:
            counted_for, left = self._counted
            if counted_for != key_id or not next(left, False):
                self._keyring.reserve_seals(key_id, LABEL, BLOCK_SEALS)
                self._counted = (key_id, repeat(True, BLOCK_SEALS - 1))
