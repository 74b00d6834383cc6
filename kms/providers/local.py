"""Local key file: a key-encryption key in a file that only its owner can read, in hexadecimal or under a passphrase."""

import hmac
import os
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from kms.derive import derive
from kms.errors import CannotUnwrapError, KeyFileError, MisconfiguredError
from kms.framing import framed
from kms.passphrase_file import (
    PASSPHRASE_FILE_RANDOM_BYTES,
    is_passphrase_file,
    key_from_passphrase_file,
    passphrase_file,
)
from kms.passphrase_kdf import RFC_9106_LOW_MEMORY, PassphraseKdf
from kms.private_file import read_private_file, remove_private_file, write_private_file
from kms.provider import KekEnd, Opens, Wrapped
from kms.secret import SecretKey, SecretText

__all__ = ["LocalProvider", "create_key_file", "is_passphrase_protected", "read_key_file"]

KEY_FILE_BYTES: Final = 32
FINGERPRINT_BYTES: Final = 16
# NIST SP 800-38D, 8.2.2.
SP_800_38D_IV_BYTES: Final = 12
SP_800_38D_TAG_BYTES: Final = 16
# A file has no versions: another key is another file, with another fingerprint.
ONLY_VERSION: Final = "1"


class LocalProvider:
    """Wraps under the key in a file; its identity is the key's fingerprint, never the path.

    ciphertext: | nonce, 12 | AES-256-GCM of the data key with the context as AAD | tag, 16 |
    """

    __slots__ = ("_cipher", "_file", "_random", "kek")

    def __init__(
        self, kek: SecretKey, *, random: Callable[[int], bytes] = os.urandom, file: Path | None = None
    ) -> None:
        """file: where the key was read from, if it is to be removed one day."""
        self.kek = f"local:{fingerprint(kek)}"
        self._cipher = AESGCM(derive(kek, framed(b"noisevault/1 local wrap")).raw)
        self._random = random
        self._file = file

    @classmethod
    def from_uri(cls, uri: str, passphrase: SecretText | None = None) -> "LocalProvider":
        """The provider of local:PATH. Raises: KeyFileError, WrongPassphraseError, MisconfiguredError."""
        scheme, _, path = uri.strip().partition(":")
        if scheme.lower() != "local" or not path:
            raise KeyFileError("a local key is named local:PATH, such as local:/etc/noisevault/kek")
        return cls(read_key_file(Path(path), passphrase), file=Path(path))

    def wrap(self, key: SecretKey, context: bytes) -> Wrapped:
        """The key under a fresh random nonce, bound to context."""
        nonce = self._random(SP_800_38D_IV_BYTES)
        return Wrapped(nonce + self._cipher.encrypt(nonce, key.raw, context), self.kek, ONLY_VERSION)

    def unwrap(self, wrapped: Sequence[tuple[Wrapped, bytes]]) -> list[SecretKey]:
        """The keys, in order. Raises: CannotUnwrapError."""
        return [self._unwrap_one(one, context) for one, context in wrapped]

    def opens(self, kek: str) -> Opens:
        """Only what the key in the file wrapped."""
        return Opens.SURELY if kek == self.kek else Opens.NO

    def require_destroyable(self, kek: str) -> None:
        """It is the key of a file that can be named."""
        if kek != self.kek or self._file is None:
            raise CannotUnwrapError(f"{kek} is not the key of a file that this provider read: remove its file by hand")

    def destroy_kek(self, kek: str, *, waiting_days: int, now: datetime) -> KekEnd:
        """Remove the file. Of copies, and of what a disk keeps of it, nothing is known."""
        del waiting_days
        self.require_destroyable(kek)
        assert self._file is not None  # noqa: S101  # require_destroyable says so
        remove_private_file(self._file, "key file")
        return KekEnd(
            kek, now, final=False, remains=f"the file {self._file} was removed; its copies are not known here"
        )

    def newest(self) -> tuple[str, str]:
        """The key in the file, which is the only one."""
        return self.kek, ONLY_VERSION

    def _unwrap_one(self, one: Wrapped, context: bytes) -> SecretKey:
        if not hmac.compare_digest(one.kek.encode(), self.kek.encode()):
            raise CannotUnwrapError(f"wrapped by {one.kek}, but the key file is {self.kek}: give the right key file")
        nonce, sealed = one.ciphertext[:SP_800_38D_IV_BYTES], one.ciphertext[SP_800_38D_IV_BYTES:]
        if len(sealed) <= SP_800_38D_TAG_BYTES:
            raise CannotUnwrapError("a wrapped key is too short: its row was changed, restore it from a backup")
        try:
            return SecretKey(self._cipher.decrypt(nonce, sealed, context))
        except InvalidTag:
            raise CannotUnwrapError(
                "a wrapped key does not authenticate: its row was changed or moved, restore it from a backup"
            ) from None


def fingerprint(kek: SecretKey) -> str:
    """32 hexadecimal characters that tell one key from another and nothing about it."""
    return derive(kek, framed(b"noisevault/1 local fingerprint")).raw[:FINGERPRINT_BYTES].hex()


def read_key_file(path: Path, passphrase: SecretText | None = None) -> SecretKey:
    """The key in a file that belongs to us or root and that group and others cannot touch.

    Raises: KeyFileError, in one line that says what is expected; WrongPassphraseError; MisconfiguredError if the file
    is protected and there is no passphrase, or the other way round.
    """
    held = [read_private_file(path, "key file")]  # no frame of an error keeps a key that is plain
    if not is_passphrase_file(held[0]):
        if passphrase is None:
            return parse_key(held.pop(), str(path))
        parse_key(held.pop(), str(path))  # what is no key at all is told as that
        raise MisconfiguredError(f"the key file {path} has no passphrase, but one is given: leave it out")
    if passphrase is None:
        raise MisconfiguredError(f"the key file {path} has a passphrase: give it in the settings")
    return key_from_passphrase_file(held.pop(), passphrase, str(path))


def is_passphrase_protected(path: Path) -> bool:
    """Whether a key file wants a passphrase. Raises: KeyFileError."""
    return is_passphrase_file(read_private_file(path, "key file"))


def parse_key(text: bytes, where: str) -> SecretKey:
    """The key that 64 hexadecimal characters spell; white space around them does not matter.

    Raises: TypeError for str, KeyFileError for anything but such text.
    """
    if not isinstance(text, bytes):
        raise TypeError(f"the content of a key file is bytes, not {type(text).__name__}")
    text = text.strip()
    size = len(text)
    if size == 2 * KEY_FILE_BYTES and all(c in b"0123456789abcdefABCDEF" for c in text):
        return SecretKey(bytes.fromhex(text.decode("ascii")))
    del text  # most of a key perhaps, and the error shows this frame
    raise KeyFileError(
        f"the key file {where} holds {size} characters: expected are {2 * KEY_FILE_BYTES}, all hexadecimal"
    )


def create_key_file(
    path: Path,
    *,
    passphrase: SecretText | None = None,
    kdf: PassphraseKdf = RFC_9106_LOW_MEMORY,
    random: Callable[[int], bytes] = os.urandom,
) -> str:
    """Write a new key to a new file of mode 0600, safe on disk, and give its identity (local:FINGERPRINT).

    passphrase: seals the key in the file by kdf. Raises: KeyFileError if the file exists or cannot be made.
    """
    key = SecretKey(random(KEY_FILE_BYTES))
    if passphrase is None:
        write_private_file(path, key.raw.hex().encode() + b"\n", "key file")
    else:
        content = passphrase_file(key, passphrase, kdf, random=random(PASSPHRASE_FILE_RANDOM_BYTES))
        write_private_file(path, content, "key file")
    return f"local:{fingerprint(key)}"
