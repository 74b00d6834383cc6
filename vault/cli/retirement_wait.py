"""Retirement wait: how long a retired key can be restored: as long as what it sealed may come back from elsewhere.

That is the age of the oldest backup and the lag of the slowest replica, both declared in the policy. A command may ask
for more.
"""

from dataclasses import dataclass
from datetime import timedelta

from kms.lifecycle import DEFAULT_WAIT, SHORTEST_WAIT
from vault.duration import show_duration
from vault.errors import PolicyError

__all__ = ["RetirementWait", "retirement_wait"]


@dataclass(frozen=True, slots=True)
class RetirementWait:
    """shortest: what the lifecycle is to allow at least. told: where the length comes from, for the operator."""

    length: timedelta
    shortest: timedelta
    told: str

    def at_least(self, wait: timedelta, place: str) -> "RetirementWait":
        """This, or what the database at that place was cleared with, where that is longer."""
        if wait <= self.length:
            return self
        told = (
            f"It waits for {show_duration(wait)}, as was said when {place} was cleared; less only by clearing it again."
        )
        return RetirementWait(wait, self.shortest, told)


def retirement_wait(declared: timedelta | None, asked: timedelta | None, *, short: bool) -> RetirementWait:
    """declared: by the policy. asked: on the command line. short: less than is declared, or than 7 days, is meant.

    Raises: PolicyError for less than was declared, unless short.
    """
    if declared is None:
        told = "The policy declares neither backup_retention nor replica_lag: "
        length = DEFAULT_WAIT if asked is None else asked
        told += f"it waits for {show_duration(length)}, {'the default' if asked is None else 'as asked'}."
        return RetirementWait(length, timedelta(0) if short else SHORTEST_WAIT, told)
    length = declared if asked is None else asked
    if length < declared and not short:
        raise PolicyError(
            f"the policy declares that what was replaced may come back for {show_duration(declared)} (backup_retention"
            " and replica_lag): wait that long, or add --short-wait if no backup and no replica needs the key"
        )
    how = "as the policy declares" if asked is None else "as asked"
    return RetirementWait(length, min(declared, length), f"It waits for {show_duration(length)}, {how}.")
