"""Key range: the part of a table that one worker does, between two primary keys. A job is a function of it."""

from dataclasses import dataclass
from typing import Final

from vault.jobs.change import Key

__all__ = ["WHOLE", "KeyRange"]


@dataclass(frozen=True, slots=True, repr=False)
class KeyRange:
    """Keys as the driver gives them. after: exclusive; up_to: inclusive; None: from the beginning, to the end.

    Ranges (None, a), (a, b), (b, None) meet no row twice and leave none out.
    """

    after: Key | None = None
    up_to: Key | None = None

    @property
    def is_whole(self) -> bool:
        return self.after is None and self.up_to is None


WHOLE: Final = KeyRange()
