"""Data key: an unwrapped key of a keyring, with the id that stored values name it by."""

from dataclasses import dataclass
from typing import NoReturn, SupportsIndex

from kms.key_record import Purpose
from kms.secret import SecretKey

__all__ = ["DataKey", "SealingKey"]


@dataclass(frozen=True, slots=True)
class DataKey:
    """The key itself is in .secret; nothing here prints or pickles it."""

    key_id: bytes
    purpose: Purpose
    sequence: int
    secret: SecretKey

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a DataKey is never pickled or copied: open the keyring in the other process")


@dataclass(frozen=True, slots=True)
class SealingKey:
    """The key to seal with, and the moment of the keyring's clock at which to ask for it again."""

    key: DataKey
    until: float
