"""Events: what a job tells while it runs, for a person, a machine and the tests alike. None holds a value of a row."""

from dataclasses import asdict, dataclass
from typing import Any

__all__ = [
    "Advanced",
    "Began",
    "Ended",
    "Event",
    "Held",
    "Proved",
    "RowFailed",
    "RowLeft",
    "RowWrong",
    "Verified",
    "Waiting",
    "WorkerLost",
    "as_json",
]


@dataclass(frozen=True, slots=True)
class Began:
    """rows: how many the table held then. resumed: from a checkpoint, after `seen` rows of pass `number`."""

    job: str
    table: str
    rows: int
    resumed: bool = False
    number: int = 1
    seen: int = 0
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Advanced:
    """After a batch: rows seen and left in this pass, and all that the run did so far.

    rate: rows a second in this pass. seconds_left: of this pass; None while nobody can tell.
    """

    job: str
    table: str
    number: int
    seen: int
    rows: int
    rewritten: int
    changed_meanwhile: int
    failed: int
    rate: float
    seconds_left: float | None


@dataclass(frozen=True, slots=True)
class RowFailed:
    """A value was left as it is; it is in the quarantine. key: the primary key as JSON."""

    job: str
    table: str
    key: str
    column: str
    reason: str


@dataclass(frozen=True, slots=True)
class RowLeft:
    """At the end of a run that leaves rows: one of them, and whether somebody has it locked. key: as JSON."""

    job: str
    table: str
    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """For a database or a key service that does not answer, at most so many seconds more."""

    job: str
    table: str
    reason: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Held:
    """Somebody asked the job to pause, or, with paused false, to go on."""

    job: str
    table: str
    paused: bool


@dataclass(frozen=True, slots=True)
class Proved:
    """After a scan of its own: how many rows are not as the job leaves them, and why, by column and reason.

    failed: of these, the rows in the quarantine.
    """

    job: str
    table: str
    remaining: int
    failed: int
    why: tuple[tuple[str, str, int], ...]


@dataclass(frozen=True, slots=True)
class Ended:
    """outcome: complete, incomplete or stopped. unsafe_seconds: how long a service may still write as before."""

    job: str
    table: str
    outcome: str
    rewritten: int
    changed_meanwhile: int
    failed: int
    remaining: int
    unsafe_seconds: float = 0


@dataclass(frozen=True, slots=True)
class RowWrong:
    """A verification found a value or a term that is not as it should be. kind: as FindingKind says.

    key: the primary key as JSON, empty for what is no row's. column: of the value, or of the term.
    """

    job: str
    table: str
    key: str
    column: str
    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class Verified:
    """A verification ended. outcome: complete; incomplete when a row failed; stopped. seen, failed: rows.

    faults: how many values and terms were found wrong, by column and kind.
    """

    job: str
    table: str
    outcome: str
    seen: int
    failed: int
    faults: tuple[tuple[str, str, int], ...]


@dataclass(frozen=True, slots=True)
class WorkerLost:
    """A worker did not end a range of keys, and another goes on where it was. part: of so many, in key order."""

    job: str
    table: str
    part: int
    parts: int


Event = Began | Advanced | RowFailed | RowLeft | Waiting | Held | Proved | Ended | RowWrong | Verified | WorkerLost
NAMES: dict[type, str] = {
    Began: "began",
    Advanced: "advanced",
    RowFailed: "row-failed",
    RowLeft: "row-left",
    Waiting: "waiting",
    Held: "held",
    Proved: "proved",
    Ended: "ended",
    RowWrong: "row-wrong",
    Verified: "verified",
    WorkerLost: "worker-lost",
}


def as_json(event: Event) -> dict[str, Any]:
    """The event's members, with its kind as `event`."""
    return {"event": NAMES[type(event)]} | asdict(event)
