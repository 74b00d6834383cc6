"""Login: the one thing that each way of getting a token does."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from kms.logins.grant import Grant
from kms.secret import SecretText

__all__ = ["Connect", "Login", "VaultClient"]


class VaultClient(Protocol):
    """As much of hvac.Client as a login needs; bound to one server, namespace and token."""

    def read(self, path: str) -> Any: ...

    def write_data(self, path: str, *, data: Mapping[str, Any]) -> Any: ...

    def delete(self, path: str) -> Any: ...


# A client that sends this token; with an empty one it sends none.
Connect = Callable[[SecretText], VaultClient]


class Login(Protocol):
    """A description of how to log in. It may be shared by providers and used again for each new token."""

    @property
    def advice(self) -> str:
        """What an operator checks when the server refuses: no secret, no full stop."""
        ...

    def log_in(self, connect: Connect) -> Grant:
        """A token. Raises: KmsError, and whatever the client raises, which the session puts into our words."""
        ...
