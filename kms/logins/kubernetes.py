"""Kubernetes: the login of a pod, by the token of its service account."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kms.errors import KeyFileError
from kms.logins.auth_mount import login_path, require_auth_mount
from kms.logins.grant import Grant
from kms.logins.login import Connect
from kms.logins.secret_line import secret_line
from kms.regular_file import open_regular
from kms.secret import SecretText

__all__ = ["Kubernetes"]

# Ours: a service account's token has about 1000 bytes.
TOKEN_MAX_BYTES: Final = 16384
WHAT: Final = "service account token"


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """jwt_file: in most pods /var/run/secrets/kubernetes.io/serviceaccount/token; read anew for each login.

    The kubelet chooses the file's mode, which is therefore not looked at.
    """

    role: str
    jwt_file: Path
    mount: str = "kubernetes"

    def __post_init__(self) -> None:
        require_auth_mount(self.mount)

    @property
    def advice(self) -> str:
        return (
            f"check that role {self.role!r} of auth/{self.mount} is bound to the service account and namespace of"
            " this pod, that the server may review tokens, the mount and the namespace of the server"
        )

    def log_in(self, connect: Connect) -> Grant:
        """A token of the role. Raises: KeyFileError, and whatever the client raises."""
        jwt = secret_line(_content(self.jwt_file), self.jwt_file, WHAT)
        return Grant.of(
            connect(SecretText("")).write_data(login_path(self.mount), data={"role": self.role, "jwt": jwt.reveal()})
        )


def _content(path: Path) -> bytes:
    try:
        with open(open_regular(path), "rb") as file:
            content = file.read(TOKEN_MAX_BYTES + 1)
    except OSError as error:
        raise KeyFileError(f"cannot open the {WHAT} {path}: {error.strerror}") from None
    if len(content) > TOKEN_MAX_BYTES:
        del content  # no frame of an error keeps a secret
        raise KeyFileError(f"the {WHAT} {path} is longer than {TOKEN_MAX_BYTES} bytes: is it the right file?")
    return content
