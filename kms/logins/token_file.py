"""Token file: a token that an agent keeps fresh in a file of mode 0600; it is read anew when the server refuses it."""

from dataclasses import dataclass
from pathlib import Path

from kms.logins.grant import Grant
from kms.logins.login import Connect
from kms.logins.secret_line import secret_line
from kms.private_file import read_private_file

__all__ = ["TokenFile"]


@dataclass(frozen=True, slots=True)
class TokenFile:
    """The sink of Vault Agent or bao agent, or the like. Whoever writes the file renews the token."""

    path: Path

    @property
    def advice(self) -> str:
        return f"see to it that the token in {self.path} is valid"

    def log_in(self, connect: Connect) -> Grant:  # noqa: ARG002  # nobody is asked
        """The token that is in the file now. Raises: KeyFileError, also if others may read the file."""
        return Grant(secret_line(read_private_file(self.path, "token file"), self.path, "token file"))
