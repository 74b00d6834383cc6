"""Private file: a small file with a secret in it, which only its owner can read and which is never written over."""

import os
import re
from pathlib import Path
from typing import Final

from kms.errors import KeyFileError
from kms.regular_file import open_regular

__all__ = ["PRIVATE_FILE_MAX_BYTES", "read_private_file", "remove_private_file", "write_private_file"]

PRIVATE_FILE_MAX_BYTES: Final = 4096
# A key in hexadecimal, or a token of Vault or OpenBao, given where the name of its file belongs.
_SECRET_ITSELF: Final = re.compile(r"[0-9A-Fa-f]{64}|(hv[sbr]|[sbr])\.[A-Za-z0-9_-]{20,}")


def read_private_file(path: Path, what: str) -> bytes:
    """What is in a file that belongs to us or root and that group and others cannot touch.

    what: the file's name for messages, such as "key file".
    Raises: KeyFileError, in one line that says what is expected.
    """
    try:
        descriptor = open_regular(path)
    except OSError as error:
        raise KeyFileError(f"cannot open the {_named(what, path)}: {error.strerror}") from None
    try:
        status = os.fstat(descriptor)
        if status.st_uid not in {os.geteuid(), 0}:
            raise KeyFileError(f"the {what} {path} belongs to another user: chown it to the one that runs this")
        if status.st_mode & 0o077:
            raise KeyFileError(f"the {what} {path} is open to others: run chmod 600 {path}")
        if status.st_size > PRIVATE_FILE_MAX_BYTES:
            raise KeyFileError(f"the {what} {path} is longer than {PRIVATE_FILE_MAX_BYTES} bytes: is it the right one?")
        return os.read(descriptor, PRIVATE_FILE_MAX_BYTES)
    finally:
        os.close(descriptor)


def write_private_file(path: Path, content: bytes, what: str) -> None:
    """Make a new file of mode 0600 and see it safe on disk. Raises: KeyFileError if it exists or cannot be made."""
    path = Path(path)
    draft = path.with_name(f"{path.name}.{os.urandom(4).hex()}.new")  # no half of a secret ever has the file's own name
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(descriptor)
            os.link(draft, path)
        finally:
            os.unlink(draft)
        _make_durable(path.parent)
    except FileExistsError:
        del content  # a secret, and the error shows this frame
        raise KeyFileError(f"{path} exists already: a {what} is never written over") from None
    except OSError as error:
        del content
        raise KeyFileError(f"cannot write the {what} {path}: {error.strerror}") from None


def remove_private_file(path: Path, what: str) -> None:
    """Remove a file for good, as far as its folder goes; nothing if it is not there. Raises: KeyFileError."""
    try:
        path.unlink(missing_ok=True)
        _make_durable(path.parent)
    except OSError as error:
        raise KeyFileError(f"cannot remove the {what} {path}: {error.strerror}") from None


def _named(what: str, path: Path) -> str:
    """What is not there, by its path; unless that is no path but the secret."""
    if _SECRET_ITSELF.fullmatch(Path(path).name):
        return f"{what}, since its name looks like the secret itself: give the path of a file that holds it"
    return f"{what} {path}"


def _make_durable(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
