"""A report: the figures of a quarter beside the state that keys, maintenance and the log were in when it was made."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from kms import KeyRecord
from vault.reporting.figures import LogFigures
from vault.reporting.quarter import Quarter

__all__ = ["AuditState", "Due", "KeyFigures", "KeyringsBeside", "Report"]


@dataclass(frozen=True, slots=True)
class AuditState:
    """Whether the whole log was verified when the report was made. fault: why it was not, "" where it was.

    sequence, mac: its last entry, which is to be kept; 0 and "" where it was not verified.
    """

    sequence: int
    mac: str
    fault: str = ""


@dataclass(frozen=True, slots=True)
class KeyFigures:
    """seals: of the field that it sealed most. rows: in which a value or term names it; None if never counted."""

    record: KeyRecord
    seals: int
    rows: int | None
    counted_at: datetime | None


@dataclass(frozen=True, slots=True)
class KeyringsBeside:
    """The other keyrings of the key store, as of tenants. states: their keys by state."""

    keyrings: int
    states: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Due:
    """What maintenance would do now; why: for an operator. fault: it could not be looked at."""

    step: str
    scope: str
    why: str
    fault: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """audit: None where the policy has no ledger. log: None where there is none, or it is not whole.

    made_at: aware. rotate_after: the policy's, None where keys are not rotated by age.
    """

    quarter: Quarter
    made_at: datetime
    made_by: str
    keyring: str
    audit: AuditState | None
    log: LogFigures | None
    keys: tuple[KeyFigures, ...]
    beside: KeyringsBeside
    rotate_after: timedelta | None
    due: tuple[Due, ...]

    @property
    def is_over(self) -> bool:
        """Whether the quarter had ended when the report was made: no entry can join it."""
        return self.made_at.timestamp() * 10**6 >= self.quarter.end
