"""Opening a provider: from a URI and settings to the KEK it names."""

from collections.abc import Sequence
from typing import Final

from kms.errors import UnknownProviderError
from kms.provider import KeyProvider
from kms.provider_settings import ProviderSettings
from kms.routed_provider import RoutedProvider

__all__ = ["FormerKek", "open_provider", "open_routed"]

# A URI, which is opened by the settings of the KEK that wraps; or a URI with settings of its own.
FormerKek = str | tuple[str, ProviderSettings]

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


def open_routed(
    uri: str, settings: ProviderSettings = ProviderSettings(), formers: Sequence[FormerKek] = ()
) -> RoutedProvider:
    """The provider of a KEK that wraps, with those of others that unwrap only. No request is sent yet.

    formers: KEKs that stored keys may be wrapped by too, such as before, during and after a move.
    Raises: as open_provider.
    """
    others = [(one, settings) if isinstance(one, str) else one for one in formers]
    return RoutedProvider(open_provider(uri, settings), *(open_provider(*one) for one in others))
