"""Wrapped secret id: an AppRole's secret id behind a wrapping token, which opens once."""

import threading
from typing import Any

from kms.errors import AccessDeniedError
from kms.fork import forget_in_child
from kms.logins.login import Connect
from kms.secret import SecretText

__all__ = ["WrappedSecretId"]


class WrappedSecretId:
    """The secret id is taken out at the first login and kept in memory for the later ones, in forked children too.

    Children that are forked before the first login cannot all unwrap: log in before forking, or give each its own.
    """

    def __init__(self, wrapping_token: SecretText) -> None:
        if not isinstance(wrapping_token, SecretText):
            raise TypeError("the wrapping token is a SecretText, so that it cannot be printed: SecretText(token)")
        self._wrapping_token = wrapping_token
        self._secret_id: SecretText | None = None
        self.forget_after_fork()
        forget_in_child(self)

    def forget_after_fork(self) -> None:
        """Another thread may have held the lock; the secret id is the child's as well."""
        self._lock = threading.Lock()

    def unwrap(self, connect: Connect, mount: str) -> SecretText:
        """The secret id of a role of auth/MOUNT.

        Raises: AccessDeniedError if something else is in the wrapping, and whatever the client raises.
        """
        with self._lock:
            if self._secret_id is None:
                client = connect(self._wrapping_token)
                _require_secret_id_of(
                    mount, client.write_data("sys/wrapping/lookup", data={"token": self._wrapping_token.reveal()})
                )
                answer = client.write_data("sys/wrapping/unwrap", data={})
                self._secret_id = SecretText(answer["data"]["secret_id"])
            return self._secret_id

    def __repr__(self) -> str:
        return "WrappedSecretId(…)"

    def __reduce__(self) -> Any:
        raise TypeError("a wrapped secret id is never pickled or copied: it opens once")


def _require_secret_id_of(mount: str, answer: Any) -> None:
    """Where a wrapping was made tells a secret id from what a thief has put into its place."""
    path = str(answer["data"]["creation_path"])
    if f"/auth/{mount}/role/" not in f"/{path}" or not path.endswith("/secret-id"):
        raise AccessDeniedError(
            f"the wrapping token holds no secret id of auth/{mount}: somebody may have exchanged it, so find out who"
            " before making another"
        )
