"""Key rows: a key record as a row of noisevault_key, and back, the same on every database."""

from datetime import UTC, datetime
from operator import index
from typing import Any

from sqlalchemy import Row

from kms.errors import KeyringError
from kms.key_record import KeyRecord, KeyState, Purpose
from kms.provider import Wrapped

__all__ = ["from_row", "time_text", "to_row"]


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
            wrapped=None if row.wrapped is None else Wrapped(_octets(row.wrapped), row.kek, row.kek_version),
            created_at=_moment(row.created_at),
            changed_at=_moment(row.changed_at),
            destroy_after=None if row.destroy_after is None else _moment(row.destroy_after),
        )
    except (TypeError, ValueError) as error:
        shown = row.key_id.hex() if isinstance(row.key_id, bytes) else repr(row.key_id)
        raise KeyringError(
            f"the row of key {shown} makes no sense ({error}): it was changed by hand, restore it from a backup"
        ) from None


def _octets(value: object) -> bytes:
    """SQLite keeps a value of any type in any column; bytes(5) would be five zeros."""
    if not isinstance(value, bytes):
        raise TypeError(f"{type(value).__name__} where bytes should be")
    return value


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time without its zone")
    return moment
