"""A batch: questions that are declared before any of them is answered, as one request with one price.

Its text is that of its questions, sorted, each once, so that their order does not make another batch of them. All else
that is public about each, its price included, is in the parameters.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Self

from dp.ask import Read, full_parameters, validate
from dp.errors import ParameterError
from dp.ledger.canonical_json import canonical
from dp.plan import plan
from dp.price import Price
from dp.questions.question import Question
from dp.request import Request

FORMAT: Final = "noisevault/1 batch"


@dataclass(frozen=True, slots=True)
class BatchQuestion:
    """One question of a batch. request: with the price that its own noise is drawn for. read: as of ask()."""

    request: Request
    question: Question
    read: Read


@dataclass(frozen=True, slots=True)
class Batch:
    """questions: sorted by their texts. request: of all of them, at the price of the whole; of one question its own."""

    request: Request
    questions: tuple[BatchQuestion, ...]

    @classmethod
    def of(cls, questions: Sequence[BatchQuestion], atto_delta: int) -> Self:
        """Checked as a whole, without the ledger and without the data.

        atto_delta: what the batch may use beside the questions' own deltas, in units of 1e-18.
        Raises: ParameterError for no question, for what no question could be asked at, for two with the same text, and
            where they differ in the dataset, its epoch, who asks, the request id, or among whom answers are shared.
        """
        price = batch_price([one.request.price for one in questions], atto_delta)
        for one in questions:
            validate(one.request, one.question)
        ordered = tuple(sorted(questions, key=lambda one: one.request.question_text))
        first = ordered[0].request
        for one, next_one in pairwise(ordered):
            if one.request.question_text == next_one.request.question_text:
                raise ParameterError("questions", "a batch has each question once; leave the second one out")
        every = [one.request for one in ordered]
        if len({(r.dataset, r.epoch, r.visibility, r.principal, r.request_id) for r in every}) > 1:
            raise ParameterError("requests", "those of a batch have one dataset, epoch, principal, sharing and id")
        if len(ordered) == 1:
            return cls(first, ordered)
        texts = tuple(one.request.question_text for one in ordered)
        columns = tuple(sorted({column for one in ordered for column in one.request.columns}))
        request = replace(
            first,
            question_text=canonical({"format": FORMAT, "questions": texts}).decode(),
            price=price,
            parameters=canonical({"format": FORMAT, "questions": tuple(map(_parameters, ordered))}).decode(),
            group_labels=(),
            columns=columns,
            column_prices=tuple(_price_of(column, ordered) for column in columns),
        )
        return cls(request, ordered)


def batch_price(prices: Sequence[Price], atto_delta: int) -> Price:
    """What a batch costs as one charge: as plan() says, but that one question alone has its own price.

    Raises: ParameterError as plan() does.
    """
    planned = plan(prices, atto_delta)
    return prices[0] if len(prices) == 1 else planned.price


def _price_of(column: str, questions: Sequence[BatchQuestion]) -> Price:
    """What the questions that touch a column cost together, one by one."""
    return plan([one.request.price for one in questions if column in one.request.columns], 0).price


def _parameters(one: BatchQuestion) -> dict[str, str | int | tuple[str, ...] | None]:
    price = one.request.price
    return {
        "parameters": full_parameters(one.request, one.question),
        "groups": one.request.group_labels,
        "nano_epsilon": price.nano_epsilon,
        "nano_rho": price.nano_rho,
        "atto_delta": price.atto_delta,
    }
