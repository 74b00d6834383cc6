"""Asking a batch: several questions that are declared in advance, as one charge and one released answer.

    validate all -> charge once (committed) -> read and answer each -> store all -> reply
                 \\-> or the answers that were released before

Which questions there are hangs on no answer, so their losses add up as those of one batch (docs/privacy.md). What goes
wrong with one of them after the charge is told of all, in the sentence of ask().
"""

from collections.abc import Sequence

from dp.answers import Answers
from dp.ask import Read, ask_with_random, charged_once, compute
from dp.batch import Batch, BatchQuestion
from dp.errors import ParameterError
from dp.last_moment import NO_LAST_MOMENT, LastMoment
from dp.ledger.ledger import Ledger
from dp.noise.random_source import OperatingSystemRandom, RandomSource
from dp.questions.question import Question
from dp.request import Request


def ask_batch(
    ledger: Ledger,
    requests: Sequence[Request],
    questions: Sequence[Question],
    reads: Sequence[Read],
    *,
    salt: bytes,
    atto_delta: int = 0,
    until: LastMoment = NO_LAST_MOMENT,
) -> Answers:
    """All answers, with fresh noise for one new charge; or, free, those released to the same batch before.

    requests, questions, reads: of each question as of ask(), side by side; a price is what that question's noise is
        drawn for. The order does not matter, and each text is there once.
    atto_delta: what the batch may use for the bound of Kairouz, Oh and Viswanath, in units of 1e-18; it is charged only
        where it helps. Otherwise the batch costs the plain sum.

    A batch of one question is that question: it costs its own price, and its answer is the one that ask() gives. In
    larger ones what was answered outside of the batch is answered, and paid for, anew.

    until, Raises: as ask(), all of it for the batch as a whole.
    """
    return ask_batch_with_random(
        ledger,
        requests,
        questions,
        reads,
        salt=salt,
        atto_delta=atto_delta,
        until=until,
        random=OperatingSystemRandom(),
    )


def ask_batch_with_random(
    ledger: Ledger,
    requests: Sequence[Request],
    questions: Sequence[Question],
    reads: Sequence[Read],
    *,
    salt: bytes,
    atto_delta: int = 0,
    until: LastMoment = NO_LAST_MOMENT,
    random: RandomSource,
) -> Answers:
    """The deterministic half of ask_batch(). Called by ask_batch() and by tests only."""
    if not len(requests) == len(questions) == len(reads):
        raise ParameterError("questions", "each has one request and one read, in the same order")
    batch = Batch.of(list(map(BatchQuestion, requests, questions, reads)), atto_delta)
    if len(batch.questions) == 1:
        (one,) = batch.questions
        alone = ask_with_random(ledger, one.request, one.question, one.read, salt=salt, until=until, random=random)
        return Answers(batch.request.price, (alone,))

    def compute_all() -> bytes:
        computed = (compute(one.request, one.question, in_time(one.read), salt, random) for one in batch.questions)
        return Answers(batch.request.price, tuple(computed)).to_json()

    def in_time(read: Read) -> Read:
        return lambda: until.before_each(read())

    return charged_once(ledger, batch.request, compute_all, Answers.from_json, until)
