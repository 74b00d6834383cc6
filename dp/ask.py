"""Asking: the one way from a question to a noisy answer, in an order that a crash cannot turn round.

    validate -> charge (committed) -> read -> bound -> aggregate -> add noise -> store -> reply
             \\-> or the answer that was released before

What goes wrong before the charge depends on the question, the policy and the ledger alone. What goes wrong after it
is told in one sentence, always the same, and what was charged stays spent.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace

from dp.answer import Answer
from dp.chunk import Chunk
from dp.errors import NotReleasedError, ParameterError
from dp.ledger.answers import Claim
from dp.ledger.ledger import Ledger
from dp.noise.random_source import OperatingSystemRandom, RandomSource
from dp.partial import Partial
from dp.questions.mechanisms import RandomMechanisms
from dp.questions.question import Question, release_by
from dp.request import Request

Read = Callable[[], Iterable[Chunk | Partial]]


def ask(ledger: Ledger, request: Request, question: Question, read: Read, *, salt: bytes) -> Answer:
    """The answer, with fresh noise for a new charge; or, free, the one released to the same question before.

    question: its repr() says everything public about it, as that of a frozen dataclass does: another bound or cap is
        another question.
    read: gives the rows, with ties made from the same salt. It is called after the charge, and only then.
    salt: of the tie breaks, fixed per dataset.

    Raises: ParameterError, BudgetExhaustedError, StaleEpochError, UnknownDatasetError or LedgerUnavailableError before
        anything is read; StoredAnswerError; NotReleasedError for whatever goes wrong after the charge.
    """
    return ask_with_random(ledger, request, question, read, salt=salt, random=OperatingSystemRandom())


def ask_with_random(
    ledger: Ledger, request: Request, question: Question, read: Read, *, salt: bytes, random: RandomSource
) -> Answer:
    """The deterministic half of ask(). Called by ask() and by tests only."""
    _validate(request, question)
    claim = ledger.charge(replace(request, parameters=f"{question!r} {request.parameters}".rstrip()))
    if not isinstance(claim, Claim):  # released before
        return Answer.from_json(claim)
    try:
        answer = _compute(request, question, read, salt, random)
        return Answer.from_json(ledger.store(claim, answer.to_json()))
    except Exception as error:  # noqa: BLE001  (what kind it is may depend on the data: nobody may tell one from another)
        cause = type(error).__name__
    with suppress(Exception):  # it is pending then, in the log as a charge without an answer
        ledger.record_unreleased(claim, cause)
    # Outside the handler: no cause, no context, and no frame that saw a row.
    raise NotReleasedError(
        f"charged, not released: no answer could be given for dataset {request.dataset!r}, and the charge stays spent;"
        " tell an operator, who finds it in the audit log; to ask again is to be charged again"
    )


def _validate(request: Request, question: Question) -> None:
    """What can be refused without the ledger and without the data."""
    question.noise(request.price)
    labels = len(request.group_labels)
    if labels != question.n_groups and (labels or question.n_groups > 1):
        raise ParameterError("group_labels", f"there are {labels} for the {question.n_groups} groups of the question")


def _compute(request: Request, question: Question, read: Read, salt: bytes, random: RandomSource) -> Answer:
    aggregates = question.aggregate(question.bound(read(), salt))
    return release_by(question, request.question_text, aggregates, request.price, RandomMechanisms(random))
