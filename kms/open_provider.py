"""Opening a provider: from a URI and settings to the KEK it names."""

from typing import Final

from kms.errors import UnknownProviderError
from kms.provider import KeyProvider
from kms.provider_settings import ProviderSettings

__all__ = ["open_provider"]

SCHEMES: Final = (
    "local:PATH",
    "hcvault://HOST:8200/transit/keys/NAME",
    "pkcs11:token=NAME;object=KEY?module-path=PATH",
    "awskms://arn:aws:kms:REGION:ACCOUNT:key/ID",
)


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
