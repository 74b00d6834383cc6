"""Token key: an AES-256 key on a PKCS#11 token, which is found by label or id, seals by AES-GCM and cannot be read."""

import hmac
from typing import Any, Final

import pkcs11
from pkcs11 import Attribute, GCMParams, KeyType, Mechanism, ObjectClass
from pkcs11.exceptions import MultipleObjectsReturned, NoSuchKey, PKCS11Error

from kms.errors import MisconfiguredError
from kms.providers.pkcs11_address import Pkcs11Address, kek_identity
from kms.providers.pkcs11_failures import may_be_tampered
from kms.providers.pkcs11_module import serial_text
from kms.secret import SecretKey

__all__ = ["SP_800_38D_IV_BYTES", "SP_800_38D_TAG_BYTES", "TokenKey"]

# NIST SP 800-38D, 8.2.2.
SP_800_38D_IV_BYTES: Final = 12
SP_800_38D_TAG_BYTES: Final = 16
KEK_BYTES: Final = 32
# The width of the column that keeps it.
IDENTITY_MAX_CHARACTERS: Final = 500
PROBE: Final = b"noisevault/1 does the token work"


class TokenKey:
    """A handle, good for one session. identity: the token's serial number with the key's own id and label."""

    __slots__ = ("_handle", "identity")

    def __init__(self, handle: Any, identity: str) -> None:
        """Use TokenKey.find()."""
        self._handle = handle
        self.identity = identity

    @classmethod
    def find(cls, session: pkcs11.Session, address: Pkcs11Address) -> "TokenKey":
        """The one key that the address names.

        Raises: PKCS11Error; MisconfiguredError if it could leave the token or cannot do its work.
        """
        wanted: dict[Attribute, Any] = {
            Attribute.CLASS: ObjectClass.SECRET_KEY,
            Attribute.KEY_TYPE: KeyType.AES,
            Attribute.TOKEN: True,
        }
        if address.object is not None:
            wanted[Attribute.LABEL] = address.object
        if address.id is not None:
            wanted[Attribute.ID] = address.id
        found: list[Any] = list(session.get_objects(wanted))
        if len(found) != 1:
            raise MultipleObjectsReturned if found else NoSuchKey
        key = found[0]
        if key[Attribute.EXTRACTABLE] or not key[Attribute.SENSITIVE]:
            raise MisconfiguredError(f"{address} can be read out of its token: make one that is not extractable")
        if not (key[Attribute.ENCRYPT] and key[Attribute.DECRYPT]) or key[Attribute.VALUE_LEN] != KEK_BYTES:
            raise MisconfiguredError(f"{address} is not an AES-256 key that may encrypt and decrypt: make one")
        identity = kek_identity(serial_text(session.token), key[Attribute.ID], key[Attribute.LABEL])
        if len(identity) > IDENTITY_MAX_CHARACTERS:
            raise MisconfiguredError(f"{address} has a label or id that is too long to be stored: shorten it")
        return cls(key, identity)

    def seal(self, key: SecretKey, iv: bytes, context: bytes) -> bytes:
        """Ciphertext and tag, after seeing that they open. Raises: PKCS11Error, MisconfiguredError."""
        sealed = self._encrypt(key.raw, iv, context)
        if not self._opens(sealed, key.raw, iv, context):
            raise MisconfiguredError(
                f"the token of {self.identity} does not open what it sealed: it has to take the IV that it is given"
            )
        return sealed

    def open(self, sealed: bytes, iv: bytes, context: bytes, *, probe_iv: bytes) -> bytes | None:
        """What was sealed, or None if it does not authenticate. Raises: PKCS11Error.

        Many tokens answer a tampered ciphertext and a failure of their own alike. So, after such an answer, the key
        is tried on zeros under probe_iv, a fresh random IV: if that works, it was the ciphertext.
        """
        try:
            return self._decrypt(sealed, iv, context)
        except PKCS11Error as raised:
            if not may_be_tampered(raised) or not self._works(probe_iv):
                raise
        return None

    def destroy(self) -> None:
        """Take the key off its token; the session must be one that may write. Raises: PKCS11Error."""
        self._handle.destroy()

    def _works(self, iv: bytes) -> bool:
        zeros = bytes(KEK_BYTES)
        try:
            return self._opens(self._encrypt(zeros, iv, PROBE), zeros, iv, PROBE)
        except PKCS11Error:
            return False

    def _opens(self, sealed: bytes, raw: bytes, iv: bytes, context: bytes) -> bool:
        try:
            return hmac.compare_digest(self._decrypt(sealed, iv, context), raw)
        except PKCS11Error as raised:
            if not may_be_tampered(raised):
                raise
            return False

    def _encrypt(self, raw: bytes, iv: bytes, context: bytes) -> bytes:
        return bytes(self._handle.encrypt(raw, mechanism=Mechanism.AES_GCM, mechanism_param=_gcm(iv, context)))

    def _decrypt(self, sealed: bytes, iv: bytes, context: bytes) -> bytes:
        return bytes(self._handle.decrypt(sealed, mechanism=Mechanism.AES_GCM, mechanism_param=_gcm(iv, context)))


def _gcm(iv: bytes, context: bytes) -> GCMParams:
    return GCMParams(iv, aad=context, tag_bits=8 * SP_800_38D_TAG_BYTES)
