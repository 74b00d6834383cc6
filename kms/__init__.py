"""Key management: data keys wrapped by a key-encryption key, kept in SQL, opened for a while, and rotated."""

from kms.data_key import DataKey, LeasedKey
from kms.derive import compound_index_key, field_key, index_key, ledger_key, shared_index_key
from kms.errors import (
    AccessDeniedError,
    CannotUnwrapError,
    KeyDestroyedError,
    KeyDisabledError,
    KeyFileError,
    KeyNotFoundError,
    KeyRetiredError,
    KeyringClosedError,
    KeyringError,
    KeyVersionRetiredError,
    KmsError,
    LeaseExpiredError,
    LoginExpiredError,
    MisconfiguredError,
    MissingExtraError,
    SchemaVersionError,
    SealLimitError,
    UnavailableError,
    UnknownKeyIdError,
    UnknownProviderError,
    WrongPassphraseError,
)
from kms.fork import forget_in_child
from kms.framing import framed, lp
from kms.key_database import close_before_fork, open_key_database
from kms.key_record import KeyRecord, KeyringState, KeyState, Purpose
from kms.key_store import KeyStore
from kms.keyring import Keyring
from kms.lease import Clock, LeaseSettings, boottime_clock
from kms.open_provider import FormerKek, open_provider, open_routed
from kms.provider import KeyProvider, KnowsKeks, NamesNewest, Opens, Rewraps, Wrapped, wrap_context
from kms.provider_settings import ProviderSettings
from kms.routed_provider import RoutedProvider
from kms.secret import SecretKey, SecretText

__all__ = [
    "AccessDeniedError",
    "CannotUnwrapError",
    "Clock",
    "DataKey",
    "FormerKek",
    "KeyDestroyedError",
    "KeyDisabledError",
    "KeyFileError",
    "KeyNotFoundError",
    "KeyProvider",
    "KeyRecord",
    "KeyRetiredError",
    "KeyState",
    "KeyStore",
    "KeyVersionRetiredError",
    "Keyring",
    "KeyringClosedError",
    "KeyringError",
    "KeyringState",
    "KmsError",
    "KnowsKeks",
    "LeaseExpiredError",
    "LeaseSettings",
    "LeasedKey",
    "LoginExpiredError",
    "MisconfiguredError",
    "MissingExtraError",
    "NamesNewest",
    "Opens",
    "ProviderSettings",
    "Purpose",
    "Rewraps",
    "RoutedProvider",
    "SchemaVersionError",
    "SealLimitError",
    "SecretKey",
    "SecretText",
    "UnavailableError",
    "UnknownKeyIdError",
    "UnknownProviderError",
    "Wrapped",
    "WrongPassphraseError",
    "boottime_clock",
    "close_before_fork",
    "compound_index_key",
    "field_key",
    "forget_in_child",
    "framed",
    "index_key",
    "ledger_key",
    "lp",
    "open_key_database",
    "open_provider",
    "open_routed",
    "shared_index_key",
    "wrap_context",
]
