"""Refusals: wrapped keys that the key service just refused to unwrap, each remembered alone and shortly."""

from dataclasses import dataclass
from typing import Final

from kms.errors import (
    AccessDeniedError,
    CannotUnwrapError,
    KeyDisabledError,
    KeyNotFoundError,
    KeyVersionRetiredError,
    KmsError,
)
from kms.key_record import KeyRecord
from kms.lease import Clock
from kms.provider import Wrapped

__all__ = ["REFUSED_SECONDS", "Refusals", "anew"]

# Ours: a key that is refused costs one request in this many seconds, however many values name it.
REFUSED_SECONDS: Final = 5.0
# The service looked at this key and said no. A login or a setting that is wrong is not about one key.
OF_THE_KEY: Final = (AccessDeniedError, CannotUnwrapError, KeyDisabledError, KeyNotFoundError, KeyVersionRetiredError)


@dataclass(frozen=True, slots=True)
class _Refusal:
    wrapped: Wrapped | None
    error: KmsError
    until: float


class Refusals:
    """Shared by threads: each step is one operation on a dictionary. No larger than the keyring."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self._refused: dict[bytes, _Refusal] = {}

    def remember(self, record: KeyRecord, error: KmsError) -> None:
        """The record's wrapped bytes were refused just now; nothing is kept of an error that is not of this key."""
        if isinstance(error, OF_THE_KEY):
            self._refused[record.key_id] = _Refusal(record.wrapped, anew(error), self._clock() + REFUSED_SECONDS)

    def withdraw(self, key_id: bytes) -> None:
        """The key opened after all."""
        self._refused.pop(key_id, None)

    def find(self, record: KeyRecord) -> KmsError | None:
        """Why these wrapped bytes were refused within the last 5 seconds; other bytes of the key were not."""
        refusal = self._refused.get(record.key_id)
        if refusal is None or refusal.wrapped != record.wrapped or self._clock() >= refusal.until:
            return None
        return anew(refusal.error)


def anew(error: KmsError) -> KmsError:
    """The same error as if it were raised nowhere yet: a raised one holds frames, which hold what they worked with."""
    fresh = type(error).__new__(type(error), *error.args)
    fresh.__dict__.update(error.__dict__)
    return fresh
