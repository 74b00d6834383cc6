"""Steps: from which phase a changeover may go to which, and what must be so before.

Two rules make every step safe. A lease passes between two steps, so that no process is more than one phase behind;
only the step that was made last may be taken back at once, since nobody can be elsewhere than in those two phases;
and the first is made at once, since whoever has not heard of the begin does as the first phase says.
And a place is asked only when every row has it: a trigger refuses rows without it, and a scan found none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from vault.changeover.phase import NOWHERE, Changeover, Phase, asked_in
from vault.errors import NoSuchStepError

__all__ = ["ENDS", "STEPS", "Evidence", "Need", "Next", "end_of", "next_step", "place_of_proof"]


class Need(StrEnum):
    """What a step waits for; as messages name it."""

    LEASE = "a sealing lease since the phase before began"
    GUARD = "a trigger that refuses a value without the new place"
    PROOF = "a scan that found no row without it"
    EMPTY = "a scan that found the place empty that is left"


STEPS: Final[Mapping[tuple[Phase, Phase], frozenset[Need]]] = {
    (Phase.OLD, Phase.DUAL_ASK_OLD): frozenset({Need.LEASE}),
    (Phase.DUAL_ASK_OLD, Phase.DUAL_ASK_NEW): frozenset({Need.LEASE, Need.GUARD, Need.PROOF}),
    (Phase.DUAL_ASK_NEW, Phase.NEW): frozenset({Need.LEASE}),
    (Phase.NEW, Phase.DUAL_ASK_NEW): frozenset({Need.LEASE}),
    (Phase.DUAL_ASK_NEW, Phase.DUAL_ASK_OLD): frozenset({Need.LEASE, Need.GUARD, Need.PROOF}),
    (Phase.DUAL_ASK_OLD, Phase.OLD): frozenset({Need.LEASE}),
}
"""Every step there is, forward and back."""
ENDS: Final[Mapping[Phase, frozenset[Need]]] = {
    Phase.OLD: frozenset({Need.LEASE, Need.EMPTY}),
    Phase.NEW: frozenset({Need.LEASE, Need.EMPTY}),
}
"""The phases in which a changeover may end; the place that is not written any more must be empty."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was found of one place, in every table that has it. complete: no row has the value and not the place."""

    guarded: bool = False
    complete: bool = False
    empty: bool = False


@dataclass(frozen=True, slots=True)
class Next:
    """Whether a step may be made. missing: what it still waits for. ready_at: when the lease is over."""

    missing: frozenset[Need]
    ready_at: datetime

    @property
    def allowed(self) -> bool:
        return not self.missing

    def __str__(self) -> str:
        if self.allowed:
            return "nothing is missing"
        until = f" (over at {self.ready_at:%Y-%m-%d %H:%M:%S} UTC)" if Need.LEASE in self.missing else ""
        return f"it waits for {'; '.join(sorted(self.missing))}{until}"


def place_of_proof(changeover: Changeover, to: Phase) -> str | None:
    """The place that must be complete before the step, None where none need be."""
    if to == changeover.came_from or Need.PROOF not in STEPS.get((changeover.phase, to), ()):
        return None
    place = asked_in(to, changeover.old, changeover.new)
    return None if place == NOWHERE else place


def next_step(changeover: Changeover, to: Phase, found: Evidence, now: datetime, lease: timedelta) -> Next:
    """Whether the changeover may go to that phase. found: of place_of_proof(). now: by the earlier of two clocks.

    Raises: NoSuchStepError.
    """
    if (changeover.phase, to) not in STEPS:
        raise NoSuchStepError(
            f"{changeover.subject.label} goes one phase at a time, not from {changeover.phase} to {to}"
        )
    # Nobody is elsewhere than in the phases of a step that is taken back, or of a begin.
    at_once = changeover.came_from in {to, changeover.phase}
    ready_at = changeover.since if at_once else changeover.since + lease
    needs = set() if to == changeover.came_from else set(STEPS[changeover.phase, to])
    if at_once:
        needs.discard(Need.LEASE)
    if place_of_proof(changeover, to) is None:
        needs -= {Need.GUARD, Need.PROOF}
    return Next(_missing(needs, found, now, ready_at), ready_at)


def end_of(changeover: Changeover, found: Evidence, now: datetime, lease: timedelta) -> Next:
    """Whether it may end where it is. found: of the place that is left. Raises: NoSuchStepError in the middle of it."""
    if changeover.phase not in ENDS:
        raise NoSuchStepError(f"{changeover.subject.label} is in the middle of its changeover and does not end here")
    ready_at = changeover.since + lease
    needs = set(ENDS[changeover.phase])
    if left_by(changeover) == NOWHERE:
        needs -= {Need.EMPTY}
    return Next(_missing(needs, found, now, ready_at), ready_at)


def left_by(changeover: Changeover) -> str:
    """The place that is given up where a changeover ends."""
    return changeover.new if changeover.phase is Phase.OLD else changeover.old


def _missing(needs: set[Need], found: Evidence, now: datetime, ready_at: datetime) -> frozenset[Need]:
    there = {
        Need.LEASE: now >= ready_at,
        Need.GUARD: found.guarded,
        Need.PROOF: found.complete,
        Need.EMPTY: found.empty,
    }
    return frozenset(need for need in needs if not there[need])
