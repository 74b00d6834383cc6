"""Secret line: a token or a secret id as a file holds it, on one line of printable ASCII."""

from pathlib import Path

from kms.errors import KeyFileError
from kms.secret import SecretText

__all__ = ["secret_line"]


def secret_line(content: bytes, file: Path, what: str) -> SecretText:
    """The line without blanks around it. what: the file's name for messages. Raises: KeyFileError."""
    line = content.strip()
    if line and all(0x21 <= byte <= 0x7E for byte in line):
        return SecretText(line.decode("ascii"))
    del content, line  # no frame of an error keeps a secret
    raise KeyFileError(f"the {what} {file} holds one line of printable ASCII and nothing else")
