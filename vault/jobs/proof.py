"""Proof: a scan of its own, which the database counts: how many rows are not as a job leaves them, and why.

It walks no keys and uses no checkpoint, so that a fault of the walk cannot hide in it.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Engine

from vault.jobs.walking.key_pages import within
from vault.jobs.walking.key_range import WHOLE, KeyRange
from vault.jobs.work import Work

__all__ = ["Proof", "prove"]


GROUPS_AT_ONCE: Final = 1000
# Ours: of changed bytes each may name another key; what is told does not grow with them.
MOST_REASONS: Final = 100
OTHERS: Final = "for other reasons"


@dataclass(frozen=True, slots=True)
class Proof:
    """remaining: rows. why: values by (column, reason); a row counts for each of its columns."""

    remaining: int
    why: Counter[tuple[str, str]]

    @property
    def reasons(self) -> tuple[tuple[str, str, int], ...]:
        """Column, reason and number, by column and then the most frequent first."""
        found = sorted(self.why.items(), key=lambda item: (item[0][0], -item[1], item[0][1]))
        return tuple((column, reason, number) for (column, reason), number in found)


def prove(engine: Engine, work: Work, key_range: KeyRange = WHOLE) -> Proof:
    """Count, in one statement's snapshot."""
    remaining, why = 0, Counter[tuple[str, str]]()
    with engine.connect().execution_options(yield_per=GROUPS_AT_ONCE) as connection:
        conditions = within(work.table, key_range, engine.dialect.name)
        for group in connection.execute(work.groups(conditions)).mappings():
            unfinished = work.unfinished(group)
            if unfinished:
                remaining += group["rows"]
                for place in unfinished.items():
                    why[place if place in why or len(why) < MOST_REASONS else (place[0], OTHERS)] += group["rows"]
    return Proof(remaining, why)
