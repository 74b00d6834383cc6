"""Warning: one pattern that was found, for an operator: what it is, whose, and the entries of the log that make it.

It holds what the questions' texts say and what the policy declares, and nothing of the data or of an answer.
"""

from dataclasses import dataclass
from fractions import Fraction

__all__ = ["Warned", "in_words", "percent"]

# Ours: of a list of names that stands in a sentence.
MOST_NAMES = 3


@dataclass(frozen=True, slots=True, order=True)
class Warned:
    """code: of the pattern, one word for each. sentence: what was seen, and what to look at.

    principals: who asked, sorted. count: of what was seen. entries: their numbers in the audit log, ascending. texts:
    the questions, each once, for operators alone.
    """

    code: str
    dataset: str
    principals: tuple[str, ...]
    sentence: str
    count: int
    entries: tuple[int, ...]
    texts: tuple[str, ...] = ()

    @property
    def last(self) -> int:
        """The entry by which it was there."""
        return self.entries[-1]


def in_words(names: tuple[str, ...]) -> str:
    """The first few, and how many more."""
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def percent(share: Fraction) -> str:
    """As a person reads it: three digits at most."""
    return f"{100 * float(share):.3g} %"
