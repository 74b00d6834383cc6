"""Place: where the charges and the one answer of a question are kept, and what seals them to it."""

from dataclasses import dataclass
from typing import Final, Self

from sqlalchemy import ColumnElement, Table, and_, bindparam

from dp.ledger.canonical_json import Plain, canonical
from dp.ledger.keys import Mac
from dp.price import Price
from dp.request import Request

QUESTION_FORMAT: Final = "noisevault/1 question"
STORED_QUESTION_FORMAT: Final = "noisevault/1 stored question"
STORED_ANSWER_FORMAT: Final = "noisevault/1 stored answer"


@dataclass(frozen=True, slots=True)
class Place:
    """visibility: among whom the answer is shared. question_mac: hexadecimal, of all that is public in the question.

    The MAC's key never changes, or a repeat would be a new question.
    """

    visibility: str
    dataset: str
    epoch: int
    question_mac: str

    @classmethod
    def of(cls, request: Request, question_mac: Mac) -> Self:
        message = canonical(
            {
                "format": QUESTION_FORMAT,
                "dataset": request.dataset,
                "epoch": request.epoch,
                "question": request.question_text,
                "parameters": request.parameters,
                "groups": request.group_labels,
                **_price(request.price),
            }
        )
        mac = question_mac.compute(message).hex()
        return cls(request.visibility, request.dataset, request.epoch, mac)

    def question_aad(self, charge_id: str) -> bytes:
        """What a stored question text is bound to."""
        return canonical({**self.fields(), "format": STORED_QUESTION_FORMAT, "charge": charge_id})

    def answer_aad(self, attempt: int) -> bytes:
        """What a stored answer is bound to: one attempt at one question, so that none can stand in for another."""
        return canonical({**self.fields(), "format": STORED_ANSWER_FORMAT, "attempt": attempt})

    def fields(self) -> dict[str, Plain]:
        """As the tables and the audit entries name them."""
        return {
            "visibility": self.visibility,
            "dataset": self.dataset,
            "epoch": self.epoch,
            "question_mac": self.question_mac,
        }


def _price(price: Price) -> dict[str, Plain]:
    """As the MAC covers it. A pure price is its epsilon alone, as it always was."""
    pure: dict[str, Plain] = {"nano_epsilon": price.nano_epsilon}
    return pure if price.is_pure else {**pure, "nano_rho": price.nano_rho, "atto_delta": price.atto_delta}


def at_place(table: Table) -> ColumnElement[bool]:
    """The condition that a row of the table is at the place whose fields() the statement is executed with."""
    return and_(*(table.c[name] == bindparam(name) for name in ("visibility", "dataset", "epoch", "question_mac")))
