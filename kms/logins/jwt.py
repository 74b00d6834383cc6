"""JWT: the login by a signed statement of another authority, as a CI system or an identity provider gives it."""

from dataclasses import dataclass
from pathlib import Path

from kms.logins.auth_mount import login_path, require_auth_mount
from kms.logins.grant import Grant
from kms.logins.login import Connect
from kms.logins.secret_line import secret_line
from kms.private_file import read_private_file
from kms.secret import SecretText

__all__ = ["Jwt"]


@dataclass(frozen=True, slots=True)
class Jwt:
    """jwt: itself, or the file of mode 0600 that holds it, which is read anew for each login."""

    role: str
    jwt: SecretText | Path
    mount: str = "jwt"

    def __post_init__(self) -> None:
        if not isinstance(self.jwt, SecretText | Path):
            raise TypeError("the JWT is a SecretText, so that it cannot be printed, or the Path of its file")
        require_auth_mount(self.mount)

    @property
    def advice(self) -> str:
        return (
            f"check that role {self.role!r} of auth/{self.mount} takes this JWT and whether it has expired, the mount"
            " and the namespace"
        )

    def log_in(self, connect: Connect) -> Grant:
        """A token of the role. Raises: KeyFileError, and whatever the client raises."""
        jwt = self.jwt if isinstance(self.jwt, SecretText) else _read(self.jwt)
        return Grant.of(
            connect(SecretText("")).write_data(login_path(self.mount), data={"role": self.role, "jwt": jwt.reveal()})
        )


def _read(file: Path) -> SecretText:
    return secret_line(read_private_file(file, "JWT file"), file, "JWT file")
