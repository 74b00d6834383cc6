"""Planned question: one line of a plan, a question and what is wished of its answer.

    QUESTION [ ";" WISH { "," WISH } ]        WISH = ( "epsilon" | "error" | "count" ) NUMBER

Empty lines, and those that begin with #, say nothing.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from vault.errors import PolicyError

_WISH: Final = re.compile(r"\s*(epsilon|error|count)\s+(\S+)\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class PlannedQuestion:
    """text: the question. epsilon, error, count: as they are written, None where they are not."""

    text: str
    epsilon: str | None = None
    error: str | None = None
    count: str | None = None


def planned_questions(lines: Iterable[str]) -> list[PlannedQuestion]:
    """The questions of a plan's lines.

    Raises: PolicyError naming the line.
    """
    found: list[PlannedQuestion] = []
    for at, line in enumerate(lines, start=1):
        text = line.strip()
        if text and not text.startswith("#"):
            found.append(_planned(at, text))
    return found


def _planned(at: int, line: str) -> PlannedQuestion:
    head, mark, tail = line.rpartition(";")
    if not mark or "'" in tail:  # a ; within a text
        return PlannedQuestion(line)
    wishes: dict[str, str] = {}
    for wish in tail.split(","):
        said = _WISH.fullmatch(wish)
        if said is None or said[1] in wishes:
            raise PolicyError(f"line {at} of the plan: after ; write each once, as in: ; error 25, count 1000")
        wishes[said[1]] = said[2]
    return PlannedQuestion(head.strip(), **wishes)
