"""Phase: which of the two places of a changeover is written and which is asked.

1 old | write old, ask old          2 dual-ask-old | write both, ask old
4 new | write new, ask new          3 dual-ask-new | write both, ask new

Processes that are one phase apart understand each other: what one of them asks, the other one writes.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Final

__all__ = ["NOWHERE", "Changeover", "Phase", "Subject"]

# The place of an index that is only being made, or being removed.
NOWHERE: Final = ""


class Phase(IntEnum):
    """In the order in which a changeover goes through them; it may go back through them as well."""

    OLD = 1
    DUAL_ASK_OLD = 2
    DUAL_ASK_NEW = 3
    NEW = 4


@dataclass(frozen=True, slots=True, order=True)
class Subject:
    """What changes, within one keyring: an index, or a field (index is empty) whose column is migrated.

    Context names. An index that columns share has neither table nor column, one over several columns has no column.
    """

    table: str
    column: str
    index: str

    @property
    def label(self) -> str:
        """As messages name it."""
        if not self.table:
            return f"shared index {self.index}"
        if not self.column:
            return f"compound index {self.table}.{self.index}"
        return f"{self.table}.{self.column}" + (f" index {self.index}" if self.index else "")


@dataclass(frozen=True, slots=True)
class Changeover:
    """One changeover as it stands. old, new: the places by name, NOWHERE where there is none.

    came_from: the phase before this one. since: when this one began, in UTC, by the later of two clocks.
    """

    subject: Subject
    old: str
    new: str
    phase: Phase
    came_from: Phase
    since: datetime

    @property
    def asked(self) -> str:
        """The place that look-ups and reads go to."""
        return asked_in(self.phase, self.old, self.new)

    @property
    def written(self) -> tuple[str, ...]:
        """The places that each write fills; the other is left out of an INSERT and nulled by an UPDATE."""
        places = {
            Phase.OLD: (self.old,),
            Phase.DUAL_ASK_OLD: (self.old, self.new),
            Phase.DUAL_ASK_NEW: (self.old, self.new),
            Phase.NEW: (self.new,),
        }[self.phase]
        return tuple(place for place in places if place != NOWHERE)


def asked_in(phase: Phase, old: str, new: str) -> str:
    """The place that is asked in a phase."""
    return old if phase <= Phase.DUAL_ASK_OLD else new
