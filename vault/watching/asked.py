"""Asked: one charge of the audit log as watching sees it: who, when, which questions, at what price."""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from dp.batch import FORMAT as BATCH
from dp.ledger.verifying.logged import Logged
from vault.question import Question, QuestionError, parse

__all__ = ["Asked"]


@dataclass(frozen=True, slots=True)
class Asked:
    """sequence: of its entry. at: microseconds since 1970, UTC. nano_epsilon: None where there is only a rho.

    questions: several of a batch; none where the text is not one of this package's questions, or does not open.
    """

    sequence: int
    at: int
    dataset: str
    principal: str
    epoch: int
    nano_epsilon: int | None
    nano_rho: int
    questions: tuple[Question, ...]

    @classmethod
    def of(cls, entry: Logged) -> Self:
        """entry: of kind charge, as any version wrote it."""
        fields = entry.fields
        return cls(
            sequence=entry.sequence,
            at=entry.at,
            dataset=fields["dataset"],
            principal=fields["principal"],
            epoch=fields["epoch"],
            nano_epsilon=None if fields.get("unbounded") else fields["nano_epsilon"],
            nano_rho=fields["nano_rho"],
            questions=tuple(_questions(entry.question)),
        )

    @property
    def price(self) -> tuple[int | None, int]:
        return self.nano_epsilon, self.nano_rho


def _questions(text: str) -> Iterator[Question]:
    """Of a batch each."""
    for one in _texts(text):
        with suppress(QuestionError):
            yield parse(one)


def _texts(text: str) -> list[str]:
    if not text.startswith("{"):
        return [text]
    try:
        batch = json.loads(text)
    except ValueError:
        return []
    return list(map(str, batch["questions"])) if batch.get("format") == BATCH else []
