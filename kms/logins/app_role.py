"""AppRole: the login of a program, by a role id and a secret id."""

from dataclasses import dataclass, field

from kms.logins.auth_mount import login_path, require_auth_mount
from kms.logins.grant import Grant
from kms.logins.login import Connect
from kms.logins.wrapped_secret_id import WrappedSecretId
from kms.secret import SecretText

__all__ = ["AppRole"]


@dataclass(frozen=True, slots=True)
class AppRole:
    """secret_id: itself, or behind a wrapping token; None where the role has bind_secret_id=false.

    Each new login uses the secret id again: its secret_id_num_uses is 0 (no limit), or its logins are counted.
    """

    role_id: str = field(repr=False)  # no secret, unless the role has no other
    secret_id: SecretText | WrappedSecretId | None = None
    mount: str = "approle"

    def __post_init__(self) -> None:
        if not self.role_id:
            raise ValueError("AppRole needs a role id: read auth/approle/role/NAME/role-id")
        if not isinstance(self.secret_id, SecretText | WrappedSecretId | None):
            raise TypeError("the secret id is a SecretText or a WrappedSecretId, so that it cannot be printed")
        require_auth_mount(self.mount)

    @property
    def advice(self) -> str:
        return (
            f"check role id and secret id of auth/{self.mount}, the secret id's life and number of uses, the addresses"
            " they are bound to, the mount and the namespace; the server may have locked the role for a quarter of an"
            " hour after refused logins (bao read sys/locked-users)"
        )

    def log_in(self, connect: Connect) -> Grant:
        """A token of the role. Raises: AccessDeniedError, and whatever the client raises."""
        secret_id = (
            self.secret_id.unwrap(connect, self.mount)
            if isinstance(self.secret_id, WrappedSecretId)
            else self.secret_id
        )
        body = {"role_id": self.role_id} | ({} if secret_id is None else {"secret_id": secret_id.reveal()})
        return Grant.of(connect(SecretText("")).write_data(login_path(self.mount), data=body))
