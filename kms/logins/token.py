"""Token: a login that somebody else made; it is used as it is and never renewed."""

from dataclasses import dataclass

from kms.logins.grant import Grant
from kms.logins.login import Connect
from kms.secret import SecretText

__all__ = ["Token"]


@dataclass(frozen=True, slots=True)
class Token:
    """Whoever gave the token renews it."""

    token: SecretText

    def __post_init__(self) -> None:
        if not isinstance(self.token, SecretText):
            raise TypeError("the token is a SecretText, so that it cannot be printed: SecretText(token)")

    @property
    def advice(self) -> str:
        return "give a token that is valid"

    def log_in(self, connect: Connect) -> Grant:  # noqa: ARG002  # nobody is asked
        """The token, without a request."""
        return Grant(self.token)
