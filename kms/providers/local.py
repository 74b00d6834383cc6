"""Local key file: a key-encryption key of 64 hexadecimal characters in a file that only its owner can read."""

import hmac
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from kms.derive import derive
from kms.errors import CannotUnwrapError, KeyFileError
from kms.framing import framed
from kms.provider import Wrapped
from kms.secret import SecretKey

__all__ = ["LocalProvider", "create_key_file", "read_key_file"]

KEY_FILE_BYTES: Final = 32
KEY_FILE_MAX_SIZE: Final = 4096
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

    __slots__ = ("_cipher", "_random", "kek")

    def __init__(self, kek: SecretKey, *, random: Callable[[int], bytes] = os.urandom) -> None:
        self.kek = f"local:{fingerprint(kek)}"
        self._cipher = AESGCM(derive(kek, framed(b"noisevault/1 local wrap")).raw)
        self._random = random

    @classmethod
    def from_uri(cls, uri: str) -> "LocalProvider":
        """The provider of local:PATH. Raises: KeyFileError."""
        scheme, _, path = uri.partition(":")
        if scheme != "local" or not path:
            raise KeyFileError("a local key is named local:PATH, such as local:/etc/noisevault/kek")
        return cls(read_key_file(Path(path)))

    def wrap(self, key: SecretKey, context: bytes) -> Wrapped:
        """The key under a fresh random nonce, bound to context."""
        nonce = self._random(SP_800_38D_IV_BYTES)
        return Wrapped(nonce + self._cipher.encrypt(nonce, key.raw, context), self.kek, ONLY_VERSION)

    def unwrap(self, wrapped: Sequence[tuple[Wrapped, bytes]]) -> list[SecretKey]:
        """The keys, in order. Raises: CannotUnwrapError."""
        return [self._unwrap_one(one, context) for one, context in wrapped]

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


def read_key_file(path: Path) -> SecretKey:
    """The key in a file that belongs to us or root and that group and others cannot touch.

    Raises: KeyFileError, in one line that says what is expected.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise KeyFileError(f"cannot open the key file {path}: {error.strerror}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise KeyFileError(f"the key file {path} is not a regular file")
        if status.st_uid not in {os.geteuid(), 0}:
            raise KeyFileError(f"the key file {path} belongs to another user: chown it to the one that runs this")
        if status.st_mode & 0o077:
            raise KeyFileError(f"the key file {path} is open to others: run chmod 600 {path}")
        return parse_key(os.read(descriptor, KEY_FILE_MAX_SIZE), str(path))
    finally:
        os.close(descriptor)


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


def create_key_file(path: Path, *, random: Callable[[int], bytes] = os.urandom) -> str:
    """Write a new key to a new file of mode 0600, safe on disk, and give its identity (local:FINGERPRINT).

    Raises: KeyFileError if the file exists or cannot be made.
    """
    key, path = SecretKey(random(KEY_FILE_BYTES)), Path(path)
    draft = path.with_name(f"{path.name}.{os.urandom(4).hex()}.new")  # no half of a key ever has the file's own name
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.write(key.raw.hex().encode() + b"\n")
                file.flush()
                os.fsync(descriptor)
            os.link(draft, path)
        finally:
            os.unlink(draft)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except FileExistsError:
        raise KeyFileError(f"{path} exists already: a key file is never written over") from None
    except OSError as error:
        raise KeyFileError(f"cannot write the key file {path}: {error.strerror}") from None
    return f"local:{fingerprint(key)}"
