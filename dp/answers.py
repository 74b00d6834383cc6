"""Answers: those of a batch that was charged at once, released and stored as one."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Self

from dp.answer import Answer
from dp.errors import AnswerFormatError, ParameterError
from dp.price import Price, require_price

FORMAT: Final = "noisevault/1 answers"


@dataclass(frozen=True, slots=True)
class Answers:
    """price: what all of them cost one person together. answers: by their questions' texts, ascending, each once.

    What one of them says it costs is what its noise was drawn for; together they may cost less than the sum of that.

    Raises: ParameterError for no answers, or in another order.
    """

    price: Price
    answers: tuple[Answer, ...]

    def __post_init__(self) -> None:
        require_price(self.price)
        texts = [answer.question for answer in self.answers]
        if not texts or any(one >= next_one for one, next_one in pairwise(texts)):
            raise ParameterError("answers", "at least one, in the order of their questions' texts, each once")

    def to(self, question_text: str) -> Answer:
        """The answer to one of the questions. Raises: KeyError."""
        for answer in self.answers:
            if answer.question == question_text:
                return answer
        raise KeyError(question_text)

    def to_json(self) -> bytes:
        """The one canonical form: that of each answer, within one object. Equal answers, equal bytes."""
        fields = {
            "format": FORMAT,
            "nano_epsilon": self.price.nano_epsilon,
            "nano_rho": self.price.nano_rho,
            "delta": self.price.atto_delta,
            "answers": [answer.fields for answer in self.answers],
        }
        return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")

    @classmethod
    def from_json(cls, stored: bytes) -> Self:
        """The answers of which to_json() gives exactly these bytes.

        Raises: AnswerFormatError for any other bytes.
        """
        try:
            answers = cls._from_fields(json.loads(stored))
            same = answers.to_json() == stored
        except (ParameterError, ValueError, TypeError, KeyError, ArithmeticError, AttributeError, RecursionError):
            same = False
        if not same:
            raise AnswerFormatError("these bytes are not answers in canonical form; restore them from a backup")
        return answers

    @classmethod
    def _from_fields(cls, fields: Mapping[str, Any]) -> Self:
        price = Price(fields["nano_epsilon"], fields["nano_rho"], fields["delta"])
        return cls(price, tuple(map(Answer.from_fields, fields["answers"])))
