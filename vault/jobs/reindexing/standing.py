"""Standing: where the changeover of an index stands after a call, and what it waits for."""

from dataclasses import dataclass
from datetime import datetime

from vault.changeover.phase import Changeover
from vault.jobs.tally import Tally

__all__ = ["Standing"]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a changeover stands after a call. changeover: None when there is none (any more).

    reason: what it waits for, for people. ready_at: when to call again, where only time is missing. tallies: the jobs
    that ran.
    """

    changeover: Changeover | None
    reason: str = ""
    ready_at: datetime | None = None
    tallies: tuple[Tally, ...] = ()

    @property
    def is_done(self) -> bool:
        return self.changeover is None
