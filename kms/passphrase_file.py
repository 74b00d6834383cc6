"""Passphrase file: the text of a key file whose key is sealed under a passphrase.

One line of canonical JSON: the function and its parameters, the salt, the sealed key, and a checksum, by which a
damaged file is told from a wrong passphrase. docs/formats.md has the members.
"""

import hashlib
import hmac
import json
from typing import Any, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from kms.errors import KeyFileError, WrongPassphraseError
from kms.framing import framed
from kms.passphrase_kdf import RFC_9106_SALT_BYTES, Argon2id, PassphraseKdf, Scrypt
from kms.secret import SecretKey, SecretText

__all__ = ["PASSPHRASE_FILE_RANDOM_BYTES", "is_passphrase_file", "key_from_passphrase_file", "passphrase_file"]

# What an editor that writes a byte order mark, or UTF-16, puts before and between: damage, but no other kind of file.
_BEFORE_BRACE: Final = b" \t\r\n\0\xef\xbb\xbf\xff\xfe"
FORMAT: Final = "noisevault/1 passphrase key file"
KEY_BYTES: Final = 32
# NIST SP 800-38D, 8.2.2.
SP_800_38D_IV_BYTES: Final = 12
SP_800_38D_TAG_BYTES: Final = 16
PASSPHRASE_FILE_RANDOM_BYTES: Final = RFC_9106_SALT_BYTES + SP_800_38D_IV_BYTES
# Ours: a longer number cannot be within a limit, and is not turned into an integer.
NUMBER_MAX_DIGITS: Final = 10
# NIST SP 800-63B-4, 3.1.1.2: the least length where nothing else protects. Checked when a file is made.
SP_800_63B_4_MIN_CHARACTERS: Final = 15
_SIZES: Final = {
    "ciphertext": KEY_BYTES + SP_800_38D_TAG_BYTES,
    "nonce": SP_800_38D_IV_BYTES,
    "salt": RFC_9106_SALT_BYTES,
}


def is_passphrase_file(content: bytes) -> bool:
    """Whether a key file's content is of this kind; the other is 64 hexadecimal characters."""
    return content.lstrip(_BEFORE_BRACE).startswith(b"{")


def passphrase_file(key: SecretKey, passphrase: SecretText, kdf: PassphraseKdf, *, random: bytes) -> bytes:
    """The content of a file that holds a 32-byte key. random: the salt, 16 bytes, and the nonce, 12.

    Raises: KeyFileError for a passphrase of less than 15 characters, or if the memory cannot be had.
    """
    if len(passphrase.reveal()) < SP_800_63B_4_MIN_CHARACTERS:
        raise KeyFileError(f"a passphrase has at least {SP_800_63B_4_MIN_CHARACTERS} characters: take several words")
    salt, nonce = random[:RFC_9106_SALT_BYTES], random[RFC_9106_SALT_BYTES:]
    members = {"format": FORMAT, "kdf": kdf.name, "salt": salt.hex(), "nonce": nonce.hex()} | _parameters(kdf)
    sealed = AESGCM(_derived(kdf, passphrase, salt).raw).encrypt(nonce, key.raw, _associated(members))
    members["ciphertext"] = sealed.hex()
    return _canonical(members | {"sha256": _checksum(members)}) + b"\n"


def key_from_passphrase_file(content: bytes, passphrase: SecretText, where: str) -> SecretKey:
    """The key in such a file.

    Raises: KeyFileError for a file that is damaged or demands too much, WrongPassphraseError.
    """
    members = _members(content, where)
    try:
        kdf = _kdf(members)
    except KeyFileError as refused:
        raise KeyFileError(f"the key file {where} is not used: {refused}") from None
    sealed, nonce, salt = (bytes.fromhex(members[name]) for name in _SIZES)
    associated = _associated({name: value for name, value in members.items() if name not in {"ciphertext", "sha256"}})
    try:
        return SecretKey(AESGCM(_derived(kdf, passphrase, salt).raw).decrypt(nonce, sealed, associated))
    except InvalidTag:
        raise WrongPassphraseError(f"the passphrase does not open the key file {where}, which is not damaged") from None


def _members(content: bytes, where: str) -> dict[str, Any]:
    """What the file says, if it is whole."""
    try:
        members = json.loads(content, parse_int=_number, parse_float=_number, parse_constant=_number)
        whole = (
            isinstance(members, dict)
            and _canonical(members) == content.strip()
            and hmac.compare_digest(_checksum(members).encode(), str(members.get("sha256")).encode())
            and all(_is_hex(members.get(name), size) for name, size in _SIZES.items())
        )
    except (ValueError, RecursionError):
        whole = False
    if not whole:
        raise KeyFileError(f"the key file {where} is damaged: restore it from a copy")
    if members.get("format") != FORMAT:
        raise KeyFileError(f"the key file {where} is of a format that this version does not know: expected is {FORMAT}")
    return members  # type: ignore[no-any-return]


def _kdf(members: dict[str, Any]) -> PassphraseKdf:
    rest = {n: v for n, v in members.items() if n not in {*_SIZES, "format", "kdf", "sha256"}}
    for kind in (Scrypt, Argon2id):
        if members.get("kdf") == kind.name and rest.keys() == set(kind.__slots__):
            return kind(**rest)
    raise KeyFileError("its function and parameters are not those of scrypt or argon2id")


def _parameters(kdf: PassphraseKdf) -> dict[str, Any]:
    return {name: getattr(kdf, name) for name in kdf.__slots__}


def _derived(kdf: PassphraseKdf, passphrase: SecretText, salt: bytes) -> SecretKey:
    try:
        return kdf.derive(passphrase, salt)
    except MemoryError:
        raise KeyFileError("there is not enough memory for the passphrase's function") from None


def _associated(members: dict[str, Any]) -> bytes:
    return framed(FORMAT.encode(), _canonical(members))


def _checksum(members: dict[str, Any]) -> str:
    return hashlib.sha256(_canonical({name: v for name, v in members.items() if name != "sha256"})).hexdigest()


def _canonical(members: dict[str, Any]) -> bytes:
    """RFC 8785; all members are ASCII text or small integers, so that sorted JSON without blanks is it."""
    return json.dumps(members, sort_keys=True, separators=(",", ":")).encode()


def _number(text: str) -> int:
    if len(text) > NUMBER_MAX_DIGITS:
        raise ValueError("a number is too long")
    return int(text)


def _is_hex(text: object, size: int) -> bool:
    return isinstance(text, str) and len(text) == 2 * size and all(c in "0123456789abcdef" for c in text)
