"""Transit destroying: deleting a Transit key with all its versions, if its configuration allows that."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from kms.errors import CannotUnwrapError, KeyNotFoundError, KmsError, MisconfiguredError, UnavailableError
from kms.logins.session import LoginSession
from kms.provider import KekEnd
from kms.providers.hcvault_address import TransitAddress

__all__ = ["TransitDestroying"]

REMAINS: Final = "backups of the server itself still hold the key"


class TransitDestroying:
    """deletion_allowed is what guards a key from this; it is not set here. A key that is not there was deleted."""

    def __init__(
        self,
        address: TransitAddress,
        request: Callable[[str, None], dict[str, Any] | KmsError],
        logins: LoginSession,
        explain: Callable[[Exception], KmsError],
    ) -> None:
        """request: reads a path."""
        self._address = address
        self._request = request
        self._logins = logins
        self._explain = explain
        self._path = f"{address.mount}/keys/{address.key}"

    def require_destroyable(self, kek: str) -> None:
        """Raises: CannotUnwrapError for another key, MisconfiguredError for a guarded one, KmsError."""
        self._is_there(kek)

    def _is_there(self, kek: str) -> bool:
        if kek != self._address.kek:
            raise CannotUnwrapError(
                f"{kek} is not surely {self._address.kek}: name the server as the rows do, or delete the key there"
            )
        answer = self._request(self._path, None)
        if isinstance(answer, KmsError):
            if isinstance(answer, KeyNotFoundError):
                return False
            raise answer
        if answer.get("deletion_allowed") is not True:
            raise MisconfiguredError(
                f"{kek} is guarded: allow it by `bao write {self._path}/config deletion_allowed=true`"
            )
        return True

    def destroy(self, kek: str, now: datetime) -> KekEnd:
        """Delete it and see that it is gone. Raises: as require_destroyable."""
        failure = self._deleted() if self._is_there(kek) else None  # the server refuses to delete one that is not
        if failure is not None:
            raise failure
        if not isinstance(self._request(self._path, None), KeyNotFoundError):
            raise UnavailableError(f"{kek} is there still after its deletion: look at its server")
        return KekEnd(kek, now, final=True, remains=REMAINS)

    def _deleted(self) -> KmsError | None:
        client = self._logins.client()
        if isinstance(client, KmsError):
            return client
        try:
            client.delete(self._path)
        except Exception as raised:  # noqa: BLE001  # to be put into our words
            return self._explain(raised)
        return None
