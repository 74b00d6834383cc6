"""Sealing: the cipher that seals one field now, as long as the keyring leases its key, every seal counted beforehand.

No nonce is kept. The cipher is, and a few counted seals: a forked child starts without either.
"""

import os
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Final

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from kms.data_key import ENDED, DataKey, LeasedKey
from kms.derive import field_key
from kms.errors import LeaseExpiredError
from kms.fork import forget_in_child
from kms.framing import lp
from kms.key_record import Purpose
from kms.keyring import Keyring
from kms.secret import SecretKey
from vault.definitions.definition import FieldDefinition
from vault.errors import InvalidValueError
from vault.sealed.envelope import SP_800_38D_IV_BYTES, associated_data, header

__all__ = ["Sealing"]

# Ours: how many single seals to count ahead; those left at the end stay counted.
BLOCK_SEALS: Final = 256
# Ours: how many values of a batch go by one look at the lease.
CHUNK_VALUES: Final = 4096
LEASE_ATTEMPTS: Final = 5
TOO_LONG: Final = "the value is longer than one seal may be (2**31 - 1 bytes)"
DATA: Final = Purpose.DATA
IV: Final = SP_800_38D_IV_BYTES


@dataclass(frozen=True, slots=True)
class _Cipher:
    """The field key under the leased data key. block: gives True once for each seal counted and not yet made."""

    leased: LeasedKey
    block: Iterator[bool]
    head: bytes
    encrypt: Callable[[bytes, bytes, bytes], bytes]
    unbound: bytes  # the whole associated data of a field that is not row-bound
    bound: bytes  # what stands before lp(row context)


def _unsealable(_nonce: bytes, _data: bytes, _aad: bytes) -> bytes:
    raise LeaseExpiredError("nothing is sealed before a key is leased")


_NO_CIPHER: Final = _Cipher(
    LeasedKey(DataKey(b"", DATA, 0, SecretKey(bytes(32))), ENDED), iter(()), b"", _unsealable, b"", b""
)


class Sealing:
    """Turns encoded values of one field into sealed values. Shared by threads.

    Both methods raise LeaseExpiredError, SealLimitError and what else the keyring raises; and InvalidValueError,
    without a place, for a value of 2 GiB.
    """

    __slots__ = ("__weakref__", "_clock", "_definition", "_keyring", "_lock", "_sealing_key", "cipher", "random")

    def __init__(
        self, definition: FieldDefinition, keyring: Keyring, random: Callable[[int], bytes] = os.urandom
    ) -> None:
        self._definition = definition
        self._keyring = keyring
        self._sealing_key = keyring.sealing
        self._clock = keyring.clock
        self.random = random
        self.forget_after_fork()
        forget_in_child(self)

    def forget_after_fork(self) -> None:
        """What the parent counted is the parent's to use."""
        self.cipher = _NO_CIPHER  # Field.seal takes it from here for each value, as seal does
        self._lock = threading.Lock()

    def seal(self, data: bytes, context: bytes | None = None) -> bytes:
        """One sealed value. context: lp(row context) of a row-bound field."""
        cipher = self.cipher
        if self._clock() >= cipher.leased.until or not next(cipher.block, False):
            cipher = self._counted_one()
        aad = cipher.unbound if context is None else cipher.bound + context
        nonce = self.random(IV)
        try:
            return cipher.head + nonce + cipher.encrypt(nonce, data, aad)
        except OverflowError:
            pass
        raise InvalidValueError(TOO_LONG)

    def seal_many(self, parts: Sequence[bytes], contexts: Sequence[bytes] | None = None) -> list[bytes]:
        """One sealed value for each part, in order, with the nonces of many drawn at once."""
        sealed: list[bytes] = []
        for start in range(0, len(parts), CHUNK_VALUES):
            chunk = parts[start : start + CHUNK_VALUES]
            cipher = self._counted(len(chunk))
            head, encrypt, aad, bound = cipher.head, cipher.encrypt, cipher.unbound, cipher.bound
            nonces = struct.unpack(f"{IV}s" * len(chunk), self.random(IV * len(chunk)))
            try:
                if contexts is None:
                    sealed += [
                        head + nonce + encrypt(nonce, data, aad) for nonce, data in zip(nonces, chunk, strict=True)
                    ]
                else:
                    sealed += [
                        head + nonce + encrypt(nonce, data, bound + context)
                        for nonce, data, context in zip(
                            nonces, chunk, contexts[start : start + len(chunk)], strict=True
                        )
                    ]
            except OverflowError:
                break
        else:
            return sealed
        raise InvalidValueError(TOO_LONG)

    def _counted_one(self) -> _Cipher:
        """The cipher, within its lease, with one seal taken from a counted block."""
        for _ in range(LEASE_ATTEMPTS):
            with self._lock:
                cipher = self._leased()
                if not next(cipher.block, False):
                    self._keyring.reserve_seals(cipher.leased.key.key_id, self._definition.label, BLOCK_SEALS)
                    cipher = self.cipher = replace(cipher, block=repeat(True, BLOCK_SEALS))
                    next(cipher.block)
            if self._sealing_key(DATA).key is cipher.leased.key:  # asked last: counting may have had to wait
                return cipher
        raise self._keys_keep_changing()

    def _counted(self, n: int) -> _Cipher:
        """The cipher, within its lease, with n seals counted."""
        for _ in range(LEASE_ATTEMPTS):
            with self._lock:
                cipher = self._leased()
            self._keyring.reserve_seals(cipher.leased.key.key_id, self._definition.label, n)
            if self._sealing_key(DATA).key is cipher.leased.key:
                return cipher
        raise self._keys_keep_changing()

    def _leased(self) -> _Cipher:
        """The cipher of the key that the keyring leases now. The lock is held."""
        leased, cipher = self._sealing_key(DATA), self.cipher
        data_key = leased.key
        if data_key is cipher.leased.key:
            self.cipher = cipher = replace(cipher, leased=leased)
            return cipher
        definition = self._definition
        key = field_key(data_key.secret, self._keyring.id, definition.table, definition.column)
        head = header(definition.generation, data_key.key_id)
        self.cipher = cipher = _Cipher(
            leased,
            # the same key, unwrapped again, has its counted seals left
            cipher.block if data_key.key_id == cipher.leased.key.key_id else iter(()),
            head,
            AESGCM(key.raw).encrypt,
            associated_data(head, definition.codec),
            head + lp(definition.codec.encode()),
        )
        return cipher

    def _keys_keep_changing(self) -> LeaseExpiredError:
        return LeaseExpiredError(
            f"the key for {self._definition.label} changes whenever it is about to seal: try again"
        )
