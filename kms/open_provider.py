"""Opening a provider: from a URI and settings to the KEK it names."""

from dataclasses import dataclass
from typing import Final

from kms.errors import UnknownProviderError
from kms.provider import KeyProvider
from kms.secret import SecretText

__all__ = ["ProviderSettings", "open_provider"]

SCHEMES: Final = (
    "local:PATH",
    "hcvault://HOST:8200/transit/keys/NAME",
    "pkcs11:token=NAME;object=KEY?module-path=PATH",
    "awskms://arn:aws:kms:REGION:ACCOUNT:key/ID",
)


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """What a URI does not say. Nothing is read from the environment, but AWS credentials by their default chain.

    token: for hcvault. ca_file: PEM file of the authority that signed the server's certificate.
    allow_plain_http_to_loopback: speak http, to this machine only. timeout: seconds for each request.
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

    def __post_init__(self) -> None:
        if self.token is not None and not isinstance(self.token, SecretText):
            raise TypeError("the token is a SecretText, so that it cannot be printed: SecretText(token)")
        if not all(secret is None or isinstance(secret, SecretText) for secret in (self.passphrase, self.pin)):
            raise TypeError("passphrase and PIN are SecretText, so that they cannot be printed: SecretText(text)")
        if not 0 < self.timeout <= 60:
            raise ValueError(f"the timeout of a request is more than 0 and at most 60 seconds, not {self.timeout}")


def open_provider(uri: str, settings: ProviderSettings = ProviderSettings()) -> KeyProvider:
    """The provider that a KEK's URI names. No request is sent yet.

    Raises: UnknownProviderError, MisconfiguredError, MissingExtraError, KeyFileError,
    WrongPassphraseError.
    """
    scheme, colon, _ = uri.strip().partition(":")
    match scheme.lower() if colon else "":
        case "local":
            from kms.providers.local import LocalProvider

            return LocalProvider.from_uri(uri, settings.passphrase)
        case "hcvault":
            from kms.providers.hcvault import TransitProvider

            return TransitProvider.from_uri(uri, settings)
        case "pkcs11":
            from kms.providers.pkcs11 import Pkcs11Provider

            return Pkcs11Provider.from_uri(uri, settings)
        case "awskms":
            from kms.providers.awskms import AwsKmsProvider

            return AwsKmsProvider.from_uri(uri, settings)
        case scheme:
            raise UnknownProviderError(
                f"no provider for {scheme or 'a URI without scheme'!r}: write {' or '.join(SCHEMES)}"
            )
