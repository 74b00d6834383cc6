"""Errors of key management: each says what an operator can do, none carries key bytes or a service's answer.

They inherit SQLAlchemy's DontWrapMixin: met while a statement is bound, they reach the caller as they are.
"""

from datetime import datetime

from sqlalchemy.exc import DontWrapMixin

from kms.utc_text import to_the_minute

__all__ = [
    "AccessDeniedError",
    "CannotUnwrapError",
    "KeyDestroyedError",
    "KeyDisabledError",
    "KeyFileError",
    "KeyNotFoundError",
    "KeyRetiredError",
    "KeyVersionRetiredError",
    "KeyringClosedError",
    "KeyringError",
    "KmsError",
    "LeaseExpiredError",
    "LoginExpiredError",
    "MisconfiguredError",
    "MissingExtraError",
    "SchemaVersionError",
    "SealLimitError",
    "UnavailableError",
    "UnknownKeyIdError",
    "UnknownProviderError",
    "WrongPassphraseError",
]


class KmsError(DontWrapMixin, Exception):
    """The root of everything that kms raises on purpose."""


class UnavailableError(KmsError):
    """The key service or the key store did not answer; the only error that lets a key live past its soft lease."""


class LoginExpiredError(KmsError):
    """The key service does not know our login any more; log in again."""


class AccessDeniedError(KmsError):
    """The key service knows us and refuses; its policy or the grant has to be changed."""


class KeyNotFoundError(KmsError):
    """The key service has no such key-encryption key."""


class KeyDisabledError(KmsError):
    """The key-encryption key is disabled or waits for its deletion; enable or restore it."""


class KeyVersionRetiredError(KmsError):
    """The version of the key-encryption key that wrapped this key is not allowed any more, or was trimmed."""


class CannotUnwrapError(KmsError):
    """The wrapped key does not authenticate: changed bytes, another place or another key-encryption key."""


class MisconfiguredError(KmsError):
    """The settings cannot work as they are: address, TLS, key type."""


class UnknownProviderError(KmsError):
    """No provider has this URI scheme; the message names those there are."""


class MissingExtraError(KmsError):
    """The provider's client library is not installed; the message names the extra to install."""


class UnknownKeyIdError(KmsError):
    """The keyring has no key with this id."""

    def __init__(self, keyring: str, key_id: bytes, purpose: str) -> None:
        self.keyring = keyring
        self.key_id = key_id
        super().__init__(f"keyring {keyring!r} has no {purpose} key {key_id.hex()}: was it written by another keyring?")


class KeyDestroyedError(KmsError):
    """The key was destroyed; what it sealed cannot be opened any more."""

    def __init__(self, keyring: str, key_id: bytes) -> None:
        self.keyring = keyring
        self.key_id = key_id
        super().__init__(f"key {key_id.hex()} of keyring {keyring!r} was destroyed: what it sealed is gone")


class KeyRetiredError(KmsError):
    """The key was taken out of use and waits to be destroyed; until then it can be brought back."""

    def __init__(self, keyring: str, key_id: bytes, since: datetime, until: datetime) -> None:
        self.keyring = keyring
        self.key_id = key_id
        self.since = since
        self.until = until
        super().__init__(
            f"key {key_id.hex()} of keyring {keyring!r} is retired since {to_the_minute(since)} and opens nothing; it"
            f" may be destroyed from {to_the_minute(until)} on, until then bring it back by: noisevault keys restore"
            f" {key_id.hex()}"
        )


class LeaseExpiredError(KmsError):
    """The state of the keyring could not be read lately enough to seal; sealing resumes when its store answers."""


class SealLimitError(KmsError):
    """A key has sealed as many values of one field as it may; rotate it."""

    def __init__(self, key_id: bytes, label: str, limit: int) -> None:
        self.key_id = key_id
        self.label = label
        super().__init__(
            f"key {key_id.hex()} has sealed {limit} values of {label}, the most a key may: rotate the keyring"
        )


class SchemaVersionError(KmsError):
    """The tables in the database were made by another version of the program."""


class KeyFileError(KmsError):
    """A file with a key, a PIN or a passphrase cannot be used: missing, readable by others, damaged."""


class WrongPassphraseError(KmsError):
    """The key file is whole, and this passphrase does not open it."""


class KeyringError(KmsError):
    """The keyring does not exist, exists already, or its stored state does not allow what was asked."""


class KeyringClosedError(KeyringError):
    """No key of the purpose seals any more; what was sealed still opens. A rotation makes a key that seals."""
