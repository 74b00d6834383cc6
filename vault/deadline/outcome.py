"""Outcome: what whoever asked is told, in one shape, whatever became of the question.

    {"answer": the answer as it is stored, or null, "text": a sentence, "told": one word}          and blanks up to room

There is no sign of whether an answer is new or was given before, of what failed, or of when.
"""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

__all__ = ["Outcome", "Told"]

ANSWERED_TEXT: Final = "this is the answer to the question"
NOT_RELEASED_TEXT: Final = (
    "no answer was released by the deadline, and what was charged, if anything, stays spent;"
    " tell an operator; to ask again is to be charged again, except by the same request id"
)


class Told(StrEnum):
    """REFUSED: the question, the policy and the ledger alone decided so."""

    ANSWERED = "answered"
    REFUSED = "refused"
    NOT_RELEASED = "not released"


@dataclass(frozen=True, slots=True)
class Outcome:
    """text: of a refusal what is short, of others always the same. answer: its canonical bytes, empty where none is.

    room: how long it is when it is sent, in bytes, by what is public about the question.
    """

    told: Told
    text: str
    answer: bytes
    room: int

    @classmethod
    def answered(cls, answer: bytes, room: int) -> Self:
        return cls(Told.ANSWERED, ANSWERED_TEXT, answer, room)

    @classmethod
    def refused(cls, reason: str, room: int) -> Self:
        """reason: of an error that is raised before anything is read."""
        return cls(Told.REFUSED, reason, b"", room)

    @classmethod
    def not_released(cls, room: int) -> Self:
        return cls(Told.NOT_RELEASED, NOT_RELEASED_TEXT, b"", room)

    def to_json(self) -> bytes:
        """ASCII, as long as its room; what is longer takes twice the room, or four times, and so on."""
        said = json.dumps({"text": self.text, "told": self.told.value}).encode("ascii")
        whole = b'{"answer": ' + (self.answer or b"null") + b", " + said[1:]
        room = self.room
        while room < len(whole):
            room *= 2
        return whole.ljust(room)
