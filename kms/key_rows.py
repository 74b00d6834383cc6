"""Key rows: a key record as a row of noisevault_key, and back, the same on every database."""

from datetime import UTC, datetime
from operator import index
from typing import Any, Final

from sqlalchemy import Row

from kms.errors import KeyringError
from kms.key_record import KeyRecord, KeyState, Purpose
from kms.provider import KEYRING_ID_BYTES, Wrapped

__all__ = ["from_row", "kek_of", "keyring_id_of", "moment_of", "time_text", "to_row"]

# As the table says; SQLite does not look at it, and Python reads no number of thousands of digits.
LONGEST_KEK_VERSION: Final = 64


def time_text(moment: datetime) -> str:
    """ISO 8601 in UTC with microseconds: text that sorts by time."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def to_row(record: KeyRecord) -> dict[str, Any]:
    """The columns of a record. Raises: KeyringError for a tombstone, which is made in place and never inserted."""
    if record.wrapped is None:
        raise KeyringError("a destroyed key is not stored anew")
    return {
        "key_id": record.key_id,
        "keyring_id": record.keyring_id,
        "purpose": record.purpose.value,
        "sequence": record.sequence,
        "state": record.state.value,
        "wrapped": record.wrapped.ciphertext,
        "kek": record.wrapped.kek,
        "kek_version": record.wrapped.kek_version,
        "created_at": time_text(record.created_at),
        "changed_at": time_text(record.changed_at),
        "destroy_after": None if record.destroy_after is None else time_text(record.destroy_after),
    }


def from_row(row: Row[Any]) -> KeyRecord:
    """The record in a row. Raises: KeyringError if the program never wrote such a row."""
    try:
        return KeyRecord(
            keyring_id=_octets(row.keyring_id),
            purpose=Purpose(row.purpose),
            key_id=_octets(row.key_id),
            sequence=index(row.sequence),
            state=KeyState(row.state),
            wrapped=None if row.wrapped is None else _wrapped(row),
            created_at=moment_of(row.created_at),
            changed_at=moment_of(row.changed_at),
            destroy_after=None if row.destroy_after is None else moment_of(row.destroy_after),
        )
    except (OverflowError, TypeError, ValueError) as error:
        shown = row.key_id.hex() if isinstance(row.key_id, bytes) else repr(row.key_id)
        raise KeyringError(
            f"the row of key {shown} makes no sense ({error}): it was changed by hand, restore it from a backup"
        ) from None


def keyring_id_of(row: Row[Any, Any]) -> bytes:
    """The id in a row of noisevault_keyring. Raises: KeyringError if the program never wrote such a row."""
    if isinstance(row.id, bytes) and len(row.id) == KEYRING_ID_BYTES:
        return row.id
    raise KeyringError(
        f"the row of keyring {row.name!r} makes no sense (its id is not {KEYRING_ID_BYTES} bytes): it was changed by"
        " hand, restore it from a backup"
    )


def kek_of(row: Row[Any]) -> str:
    """The KEK that a row names. Raises: TypeError, ValueError."""
    return _printable(row.kek)


def moment_of(text: str) -> datetime:
    """The moment that time_text wrote. Raises: TypeError, ValueError, OverflowError."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time without its zone")
    return moment.astimezone(UTC)


def _wrapped(row: Row[Any]) -> Wrapped:
    kek, version = kek_of(row), _printable(row.kek_version)
    if len(version) > LONGEST_KEK_VERSION:
        raise ValueError(f"a version of {len(version)} characters")
    return Wrapped(_octets(row.wrapped), kek, version)


def _printable(value: object) -> str:
    """It goes to an operator's terminal as it is, where a line break or an escape would say what we do not."""
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} where text should be")
    if not value.isprintable():
        raise ValueError("the name of a key-encryption key that cannot be printed")
    return value


def _octets(value: object) -> bytes:
    """SQLite keeps a value of any type in any column; bytes(5) would be five zeros."""
    if not isinstance(value, bytes):
        raise TypeError(f"{type(value).__name__} where bytes should be")
    return value
