"""Job settings: how patiently, and how fast, a job works."""

from dataclasses import dataclass, field

from vault.jobs.pace import PaceSettings

__all__ = ["JobSettings"]


@dataclass(frozen=True, slots=True)
class JobSettings:
    """passes: at most so many, while rows change meanwhile. tries: of one transaction that the database ends.

    lock_seconds: how long a batch waits for somebody's lock. patience: how many seconds an outage may last.
    beat: seconds between two signs of life; silence: without one, a run is taken for dead.
    after_lease: wait until no service can write as before, and look again.
    """

    pace: PaceSettings = field(default_factory=PaceSettings)
    passes: int = 5
    tries: int = 5
    lock_seconds: float = 1.0
    patience: float = 120.0
    beat: float = 1.0
    silence: float = 10.0
    after_lease: bool = False
