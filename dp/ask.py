"""Asking: the one way from a question to a noisy answer, in an order that a crash cannot turn round.

    validate -> charge (committed) -> read -> bound -> aggregate -> add noise -> store -> reply
             \\-> or the answer that was released before

What goes wrong before the charge depends on the question, the policy and the ledger alone. What goes wrong after it
is told in one sentence, always the same, and what was charged stays spent.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from dp.answer import Answer
from dp.chunk import Chunk
from dp.errors import NotReleasedError, ParameterError
from dp.last_moment import NO_LAST_MOMENT, LastMoment
from dp.ledger.answers import Claim
from dp.ledger.ledger import Ledger
from dp.noise.random_source import OperatingSystemRandom, RandomSource
from dp.partial import Partial
from dp.questions.mechanisms import RandomMechanisms
from dp.questions.question import Question, release_by
from dp.request import Request

Read = Callable[[], Iterable[Chunk | Partial]]
Released = TypeVar("Released")


def ask(
    ledger: Ledger,
    request: Request,
    question: Question,
    read: Read,
    *,
    salt: bytes,
    until: LastMoment = NO_LAST_MOMENT,
) -> Answer:
    """The answer, with fresh noise for a new charge; or, free, the one released to the same question before.

    question: its repr() says everything public about it, as that of a frozen dataclass does: another bound or cap is
        another question.
    read: gives the rows, with ties made from the same salt. It is called after the charge, and only then.
    salt: of the tie breaks, fixed per dataset.
    until: when it has passed nothing is charged (TooLateError), read or stored any more.

    Raises: ParameterError, BudgetExhaustedError, StaleEpochError, UnknownDatasetError, RequestIdError or
        LedgerUnavailableError before anything is read; StoredAnswerError; NotReleasedError for whatever goes wrong
        after the charge, and for a request id whose charge has no answer, or none yet.
    """
    return ask_with_random(ledger, request, question, read, salt=salt, until=until, random=OperatingSystemRandom())


def ask_with_random(
    ledger: Ledger,
    request: Request,
    question: Question,
    read: Read,
    *,
    salt: bytes,
    until: LastMoment = NO_LAST_MOMENT,
    random: RandomSource,
) -> Answer:
    """The deterministic half of ask(). Called by ask() and by tests only."""
    validate(request, question)
    return charged_once(
        ledger,
        replace(request, parameters=full_parameters(request, question)),
        lambda: compute(request, question, lambda: until.before_each(read()), salt, random).to_json(),
        Answer.from_json,
        until,
    )


def charged_once(
    ledger: Ledger,
    request: Request,
    compute: Callable[[], bytes],
    read_back: Callable[[bytes], Released],
    until: LastMoment,
) -> Released:
    """What was released to the request before, for nothing; or what is computed after its charge, stored and read back.

    compute: the canonical form of all that is to be released. It alone looks at the data.
    Raises: as ask().
    """
    until.require()
    claim = ledger.charge(request)
    if not isinstance(claim, Claim):  # released before
        return read_back(claim)
    try:
        return read_back(ledger.store(replace(claim, until=until), compute()))
    except Exception as error:  # noqa: BLE001  (what kind it is may depend on the data: nobody may tell one from another)
        cause = type(error).__name__
    with suppress(Exception):  # it is pending then, in the log as a charge without an answer
        ledger.record_unreleased(claim, cause)
    # Outside the handler: no cause, no context, and no frame that saw a row.
    raise NotReleasedError(request.dataset)


def validate(request: Request, question: Question) -> None:
    """Refuse what can be refused without the ledger and without the data. Raises: ParameterError."""
    question.noise(request.price)
    labels = len(request.group_labels)
    if labels != question.n_groups and (labels or question.n_groups > 1):
        raise ParameterError("group_labels", f"there are {labels} for the {question.n_groups} groups of the question")


def full_parameters(request: Request, question: Question) -> str:
    """All that the answer hangs on beside the text, the groups and the price: what the question says of itself, too."""
    return f"{question!r} {request.parameters}".rstrip()


def compute(request: Request, question: Question, read: Read, salt: bytes, random: RandomSource) -> Answer:
    """The noisy answer of rows that are read now. Called after the charge only."""
    aggregates = question.aggregate(question.bound(read(), salt))
    return release_by(question, request.question_text, aggregates, request.price, RandomMechanisms(random))
