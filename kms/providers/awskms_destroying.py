"""AWS KMS destroying: whether a key may be scheduled for deletion, and when it is gone, by what DescribeKey says."""

from datetime import UTC, datetime
from typing import Any, Final

from kms.errors import CannotUnwrapError, KmsError, MisconfiguredError, UnavailableError

__all__ = ["DAYS", "deletion_date", "why_not_deleted"]

# KMS API Reference, ScheduleKeyDeletion: PendingWindowInDays.
DAYS: Final = range(7, 31)


def why_not_deleted(kek: str, metadata: dict[str, Any]) -> KmsError | None:
    """metadata: of the key. None if its deletion can be scheduled, or was."""
    if metadata.get("Arn") != kek.removeprefix("awskms://"):
        return CannotUnwrapError(f"{kek} is not a key of this login's account: delete it there")
    if metadata.get("MultiRegion") is True:
        return MisconfiguredError(f"{kek} is a multi-Region key, whose replicas would stay: delete them all by hand")
    return None


def deletion_date(kek: str, answer: dict[str, Any]) -> datetime | KmsError:
    """What DescribeKey or ScheduleKeyDeletion said."""
    moment = answer.get("DeletionDate")
    if not isinstance(moment, datetime):
        return UnavailableError(f"the endpoint of {kek} gave no proper answer")
    return moment.astimezone(UTC)
