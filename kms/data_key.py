"""Data key: an unwrapped key of a keyring, with the id that stored values name it by, and its lease."""

from dataclasses import dataclass
from typing import Final, NoReturn, SupportsIndex

from kms.key_record import Purpose
from kms.secret import SecretKey

__all__ = ["DATA_KEY_BYTES", "DataKey", "LeasedKey"]

# Ours: of AES-256 and HMAC-SHA-256, by HKDF.
DATA_KEY_BYTES: Final = 32
ENDED: Final = float("-inf")


@dataclass(frozen=True, slots=True)
class DataKey:
    """The key itself is in .secret; nothing here prints or pickles it."""

    key_id: bytes
    purpose: Purpose
    sequence: int
    secret: SecretKey

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a DataKey is never pickled or copied: open the keyring in the other process")


@dataclass(slots=True, eq=False)
class LeasedKey:
    """A key, and the moment of the keyring's clock at which to ask for it again.

    Whoever holds it looks at `until` before each use: the keyring ends a lease early when the key's state changes, and
    lengthens it when it has asked again.
    """

    key: DataKey
    until: float

    def extend(self, until: float) -> None:
        """For the keyring only: whoever holds the key goes on with it."""
        self.until = until

    def end(self) -> None:
        """For the keyring only: from now on the holder asks again."""
        self.until = ENDED
