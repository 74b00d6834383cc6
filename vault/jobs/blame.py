"""Blame: which rows of a batch the database refuses, or does not let be written now, so that the others are written.

Found by halves, down to one row: a batch of thousands with one such row takes some twenty transactions more.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from vault.jobs.change import Change

__all__ = ["Blame", "Found", "Refused", "Written"]

# Ours: seconds that the rows of one batch are looked for; those not come to by then are missed.
LONGEST_SEARCH: Final = 30.0


@dataclass(frozen=True, slots=True)
class Written:
    """A piece that was committed. rows: of it; the others were missed."""

    rows: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A piece that the database did not take, and of which nothing is left. reason: without a value.

    None: it was ended for another transaction, not for its rows.
    """

    reason: str | None = None


@dataclass(slots=True)
class Found:
    """written: rows. refused: what is to be quarantined, with the reason."""

    written: int = 0
    refused: list[tuple[Change, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Blame:
    """write: one transaction. Whatever it raises ends the search."""

    write: Callable[[Sequence[Change]], Written | Refused]
    seconds: float = LONGEST_SEARCH
    clock: Callable[[], float] = time.monotonic

    def find(self, changes: Sequence[Change]) -> Found:
        """For changes that together were not written."""
        found, end = Found(), self.clock() + self.seconds
        todo = self._halves(changes)
        while todo and self.clock() < end:
            piece = todo.pop()
            outcome = self.write(piece)
            if isinstance(outcome, Written):
                found.written += outcome.rows
            elif len(piece) > 1:
                todo += self._halves(piece)
            elif outcome.reason is not None:
                found.refused.append((piece[0], outcome.reason))
        return found

    @staticmethod
    def _halves(changes: Sequence[Change]) -> list[Sequence[Change]]:
        """The first last, since it is taken from the end. One change is its own half."""
        middle = len(changes) // 2
        return [half for half in (changes[middle:], changes[:middle]) if half]
