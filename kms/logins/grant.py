"""Grant: a token, for how long it is lent, and whether it can be renewed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kms.secret import SecretText

__all__ = ["Grant"]


@dataclass(frozen=True, slots=True)
class Grant:
    """seconds: the lease, counted from before it was asked for; None where nobody said how long the token lives."""

    token: SecretText
    seconds: float | None = None
    renewable: bool = False

    @classmethod
    def of(cls, answer: Any) -> "Grant":
        """What the server's answer to a login or a renewal grants.

        Raises: KeyError, TypeError, ValueError for an answer without a token, as one that asks for a second factor.
        """
        auth = answer["auth"]
        if not isinstance(auth, Mapping) or not isinstance(auth["client_token"], str) or not auth["client_token"]:
            raise ValueError("the answer has no token")
        seconds = float(auth["lease_duration"])
        return cls(SecretText(auth["client_token"]), seconds if seconds > 0 else None, auth.get("renewable") is True)
