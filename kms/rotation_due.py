"""Rotation due: whether a key has sealed for so long, or so often, that another should follow it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from kms.key_record import KeyRecord
from kms.utc_text import to_the_minute

__all__ = ["RotationDue", "most_sealed", "rotation_due"]


@dataclass(frozen=True, slots=True)
class RotationDue:
    """The key that is due, and why, in words for an operator. Given to rotate(), it replaces this key and no other."""

    key_id: bytes
    reason: str


def rotation_due(
    active: KeyRecord,
    counts: Mapping[tuple[bytes, str], int],
    *,
    now: datetime,
    max_age: timedelta | None = None,
    max_seals: int | None = None,
) -> RotationDue | None:
    """Whether the ACTIVE key is older than max_age, since it became ACTIVE, or sealed more than max_seals values.

    counts: seals by key id and label. Each label is sealed under a key of its own, derived from the data key, and
    the limit is a derived key's (NIST SP 800-38D, 8.3): so the label that was sealed most often decides, not the sum.
    """
    age = now - active.changed_at
    if max_age is not None and age > max_age:
        return RotationDue(active.key_id, f"active since {to_the_minute(active.changed_at)}, {age.days} days")
    label, count = most_sealed(active.key_id, counts)
    if max_seals is not None and count > max_seals:
        return RotationDue(active.key_id, f"{count} values of {label} sealed")
    return None


def most_sealed(key_id: bytes, counts: Mapping[tuple[bytes, str], int]) -> tuple[str, int]:
    """The label that the key sealed most often, and how often; ("", 0) if it sealed nothing."""
    of_key = [(count, label) for (sealed_by, label), count in counts.items() if sealed_by == key_id]
    count, label = max(of_key, default=(0, ""))
    return label, count
