"""Derivation: the one place where a data key becomes the key of a field, an index or a ledger use.

HKDF is RFC 5869 with SHA-256, an empty salt and 32 bytes out; the info is framed, so that no two
uses share a key. Source: RFC 5869, section 2.
"""

from typing import Final, Literal

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from kms.framing import framed
from kms.provider import KEYRING_ID_BYTES
from kms.secret import SecretKey

__all__ = ["LedgerUse", "compound_index_key", "derive", "field_key", "index_key", "ledger_key", "shared_index_key"]

DERIVED_KEY_BYTES: Final = 32

LedgerUse = Literal["audit", "question", "answer"]
LEDGER_USES: Final = ("audit", "question", "answer")


def derive(key: SecretKey, info: bytes) -> SecretKey:
    """RFC 5869 with SHA-256, empty salt, 32 bytes."""
    return SecretKey(HKDF(SHA256(), DERIVED_KEY_BYTES, None, info).derive(key.raw))


def field_key(data_key: SecretKey, keyring_id: bytes, table: str, column: str) -> SecretKey:
    """The key that seals one field; table and column are the field's context names."""
    return derive(data_key, framed(b"noisevault/1 field", _id(keyring_id), _name(table), _name(column)))


def index_key(key: SecretKey, keyring_id: bytes, table: str, column: str, index_name: str) -> SecretKey:
    """The key of one blind index of one field."""
    info = framed(b"noisevault/1 index", _id(keyring_id), _name(table), _name(column), _name(index_name))
    return derive(key, info)


def shared_index_key(key: SecretKey, keyring_id: bytes, scope: str) -> SecretKey:
    """The key of an index that several columns share, so that they can be joined."""
    return derive(key, framed(b"noisevault/1 shared index", _id(keyring_id), _name(scope)))


def compound_index_key(key: SecretKey, keyring_id: bytes, table: str, index_name: str) -> SecretKey:
    """The key of an index over several columns of one table."""
    return derive(key, framed(b"noisevault/1 compound index", _id(keyring_id), _name(table), _name(index_name)))


def ledger_key(key: SecretKey, keyring_id: bytes, use: LedgerUse) -> SecretKey:
    """The key of one use of the ledger: "audit" and "question" are HMAC keys, "answer" seals.

    Raises: ValueError for any other use.
    """
    if use not in LEDGER_USES:
        raise ValueError(f"a ledger key is for one of {', '.join(LEDGER_USES)}, not {use!r}")
    return derive(key, framed(b"noisevault/1 ledger", _id(keyring_id), use.encode()))


def _id(keyring_id: bytes) -> bytes:
    if not isinstance(keyring_id, bytes) or len(keyring_id) != KEYRING_ID_BYTES:
        raise ValueError(f"a keyring id is {KEYRING_ID_BYTES} bytes")
    return keyring_id


def _name(name: str) -> bytes:
    if not name:
        raise ValueError("the empty name names no field, index or scope")
    return name.encode()
