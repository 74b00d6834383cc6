"""Provider settings: what opening a provider needs beside the URI."""

from dataclasses import dataclass

from kms.logins.login import Login
from kms.secret import SecretText

__all__ = ["ProviderSettings"]


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """What a URI does not say. Nothing is read from the environment, but AWS credentials by their default chain.

    token or login: for hcvault, one of them; kms.logins has the logins.
    ca_file: PEM file of the authority that signed the server's certificate.
    client_cert, client_key: PEM files of the certificate, and of its key without a passphrase, by which hcvault says
    who it is; the key may be in the first file too.
    allow_plain_http_to_loopback: speak http, to this machine only.
    timeout: seconds for each request. deadline: seconds after a call to a key service began in which it may begin
    another request: an unavailable one is asked again until then. So a call ends by deadline + timeout.
    passphrase: of a local key file. pin: of a PKCS#11 token, where the URI has no pin-source.
    aws_endpoint: https://HOST of AWS KMS, where it is not the region's own (a VPC endpoint, FIPS).
    """

    token: SecretText | None = None
    namespace: str | None = None
    ca_file: str | None = None
    allow_plain_http_to_loopback: bool = False
    timeout: float = 5.0
    passphrase: SecretText | None = None
    pin: SecretText | None = None
    aws_endpoint: str | None = None
    login: Login | None = None
    client_cert: str | None = None
    client_key: str | None = None
    deadline: float = 5.0

    def __post_init__(self) -> None:
        if self.token is not None and not isinstance(self.token, SecretText):
            raise TypeError("the token is a SecretText, so that it cannot be printed: SecretText(token)")
        if self.token is not None and self.login is not None:
            raise ValueError("give a token or a login, not both: which one is used would be a guess")
        if not all(secret is None or isinstance(secret, SecretText) for secret in (self.passphrase, self.pin)):
            raise TypeError("passphrase and PIN are SecretText, so that they cannot be printed: SecretText(text)")
        if not 0 < self.timeout <= 60:
            raise ValueError(f"the timeout of a request is more than 0 and at most 60 seconds, not {self.timeout}")
        if not 0 < self.deadline <= 86400:
            raise ValueError(f"the deadline of a call is more than 0 and at most 86400 seconds, not {self.deadline}")
        if self.client_key is not None and self.client_cert is None:
            raise ValueError("client_key is the key of client_cert: give both")
