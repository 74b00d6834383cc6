"""Asking: charged first, answered from then on in one way or in one sentence."""

import logging
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine, create_engine, select

from dp.ask import ask, ask_with_random
from dp.caps import Caps
from dp.chunk import Chunk
from dp.errors import (
    BudgetExhaustedError,
    DpError,
    NotReleasedError,
    ParameterError,
    TooLateError,
    UnknownDatasetError,
)
from dp.grid import Grid
from dp.last_moment import LastMoment
from dp.ledger.ledger import Ledger
from dp.ledger.store.schema import audit
from dp.price import Price
from dp.questions.count import Count
from dp.questions.mean import Mean
from dp.questions.question import Aggregates, Question
from dp.questions.undeclared_groups import UndeclaredGroups
from dp.request import Request
from tests.dp.ledger.sealing import AesSealer, a_request, ledger_on
from tests.dp.questions.every import additive, choosing
from tests.dp.seeded import SeededRandom
from tests.sizes import sized

EPSILON = 10**9
SALT = b"salt"
COUNT = Count(Caps(1))
SECRET = "4929-1234-5678-9012"


@pytest.fixture
def engine(tmp_path: Path) -> Iterable[Engine]:
    engine = create_engine(f"sqlite:///{tmp_path / 'ledger.db'}")
    yield engine
    engine.dispose()


@pytest.fixture
def ledger(engine: Engine) -> Ledger:
    ledger = ledger_on(engine)
    ledger.create_schema()
    ledger.declare("people", EPSILON)
    return ledger


def rows(units: int, value: float = 1.0) -> list[Chunk]:
    number = np.arange(units, dtype=np.int64)
    return [Chunk(number, np.zeros(units, np.int32), number.astype(np.uint64), np.full(units, value))]


def last_entry(engine: Engine) -> str:
    with engine.connect() as connection:
        return connection.scalars(select(audit.c.entry).order_by(audit.c.sequence)).all()[-1]


def test_the_charge_is_committed_before_the_data_is_read(ledger: Ledger, engine: Engine) -> None:
    spent = []

    def read() -> list[Chunk]:
        spent.append(ledger_on(engine).status("people").spent)
        return rows(3)

    ask(ledger, a_request(), COUNT, read, salt=SALT)
    assert spent == [100_000_000]


def test_the_answer_says_what_was_asked_and_what_it_cost(ledger: Ledger) -> None:
    answer = ask(ledger, a_request(), COUNT, lambda: rows(3), salt=SALT)
    assert (answer.question, answer.nano_epsilon, answer.caps) == ("COUNT(*)", 100_000_000, Caps(1))
    assert len(answer.groups) == 1


def test_the_same_question_gets_the_same_answer_for_nothing_and_without_the_data(ledger: Ledger) -> None:
    first = ask(ledger, a_request(EPSILON), COUNT, lambda: rows(1000), salt=SALT)
    for _ in range(3):
        assert ask(ledger, a_request(EPSILON), COUNT, lambda: pytest.fail("it read the data"), salt=SALT) == first
    assert ledger.status("people").spent == EPSILON


NEAR = Grid.of(0, 10, 1)
EVERY: list[Question] = [*additive(NEAR, Caps(1), 2), *choosing(NEAR, Caps(1), 2)]


@pytest.mark.parametrize("question", EVERY, ids=lambda question: type(question).__name__)
def test_every_question_is_charged_answered_and_kept(ledger: Ledger, question: Question) -> None:
    labels = tuple(f"group {number}" for number in range(question.n_groups))
    request = a_request(EPSILON, group_labels=labels)
    answer = ask(ledger, request, question, lambda: rows(50), salt=SALT)
    assert ask(ledger, request, question, lambda: pytest.fail("it read the data"), salt=SALT) == answer
    assert ledger.status("people").spent == EPSILON
    ledger.verify_audit()


def test_keys_that_nobody_declared_are_charged_with_their_delta_and_kept(ledger: Ledger) -> None:
    def read() -> list[Chunk]:
        (chunk,) = rows(50)
        return [Chunk(chunk.unit, chunk.group, chunk.tie, keys=(b"city",))]

    ledger.declare("people", EPSILON, lifetime_atto_delta=10**15, reason="a test", accept=True)
    request = replace(a_request(), price=Price.approximate(EPSILON, 10**12))
    question = UndeclaredGroups(Caps(1))
    answer = ask(ledger, request, question, read, salt=SALT)
    assert [group.key for group in answer.groups] == [b"city"]
    assert ask(ledger, request, question, lambda: pytest.fail("it read the data"), salt=SALT) == answer


def test_a_charge_is_followed_by_fresh_noise(ledger: Ledger) -> None:
    answers = {
        ask(ledger, a_request(10**6, f"question {n}"), COUNT, lambda: rows(3), salt=SALT).groups for n in range(8)
    }
    assert len(answers) > 1


def test_other_bounds_of_the_same_text_are_another_question(ledger: Ledger) -> None:
    for upper in (1, 2):
        ask(ledger, a_request(), Mean(Caps(1), Grid.of(0, upper, 1)), lambda: rows(3), salt=SALT)
    assert ledger.status("people").spent == 200_000_000


def test_two_who_ask_at_once_both_pay_and_get_the_answer_that_was_first(ledger: Ledger) -> None:
    inner: list[object] = []

    def read() -> list[Chunk]:
        inner.append(ask(ledger, a_request(), COUNT, lambda: rows(3), salt=SALT))
        return rows(3)

    outer = ask(ledger, a_request(), COUNT, read, salt=SALT)
    assert [outer] == inner
    assert ledger.status("people").spent == 200_000_000
    ledger.verify_audit()


@pytest.mark.parametrize(
    ("request_", "question"),
    [
        (a_request(1), Mean(Caps(1), Grid.of(0, 10, 1))),
        (a_request(group_labels=("a",)), Count(Caps(1), n_groups=2)),
        (a_request(), Count(Caps(1), n_groups=2)),
        (a_request(group_labels=("a", "b")), COUNT),
    ],
)
def test_what_is_wrong_with_the_question_itself_costs_nothing(
    ledger: Ledger, request_: Request, question: Question
) -> None:
    with pytest.raises(ParameterError):
        ask(ledger, request_, question, lambda: pytest.fail("it read the data"), salt=SALT)
    assert ledger.status("people").spent == 0


@pytest.mark.parametrize(
    ("request_", "error"),
    [(a_request(2 * EPSILON), BudgetExhaustedError), (a_request(dataset="nobody"), UnknownDatasetError)],
)
def test_a_refusal_reads_nothing(ledger: Ledger, request_: Request, error: type[DpError]) -> None:
    with pytest.raises(error):
        ask(ledger, request_, COUNT, lambda: pytest.fail("it read the data"), salt=SALT)


class BadQuestion(Count):
    """Fails in one of its steps, and tells what it saw."""

    step = ""

    def aggregate(self, bounded: object) -> Aggregates:
        if self.step == "aggregate":
            raise ZeroDivisionError(SECRET)
        return super().aggregate(bounded)  # type: ignore[arg-type]

    def release(self, *arguments: object) -> object:  # type: ignore[override]
        raise ArithmeticError(SECRET)


class BadAggregate(BadQuestion):
    step = "aggregate"


def raise_at_once() -> list[Chunk]:
    raise ValueError(SECRET)


def raise_later() -> Iterable[Chunk]:
    yield from rows(3)
    raise KeyError(SECRET)


def raise_out_of_memory() -> list[Chunk]:
    raise MemoryError(SECRET)


def raise_one_of_ours() -> list[Chunk]:
    raise BudgetExhaustedError(SECRET, 1, 2)


def mixed_units() -> list[Chunk]:
    other = Chunk(np.array([b"x" * 16], dtype="S16"), np.zeros(1, np.int32), np.zeros(1, np.uint64))
    return [*rows(1), other]


FAILURES: list[tuple[Question, Callable[[], Iterable[Chunk]], str]] = [
    (COUNT, raise_at_once, "ValueError"),
    (COUNT, raise_later, "KeyError"),
    (COUNT, raise_out_of_memory, "MemoryError"),
    (COUNT, raise_one_of_ours, "BudgetExhaustedError"),
    (COUNT, mixed_units, "ParameterError"),
    (COUNT, lambda: None, "TypeError"),  # type: ignore[arg-type,return-value]
    (BadAggregate(Caps(1)), lambda: rows(3), "ZeroDivisionError"),
    (BadQuestion(Caps(1)), lambda: rows(3), "ArithmeticError"),
]


@pytest.mark.parametrize(("question", "read", "kind"), FAILURES, ids=[kind for _, _, kind in FAILURES])
def test_whatever_goes_wrong_after_the_charge_is_one_sentence_and_no_refund(
    ledger: Ledger,
    engine: Engine,
    caplog: pytest.LogCaptureFixture,
    question: Question,
    read: Callable[[], Iterable[Chunk]],
    kind: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(NotReleasedError) as failure:
        ask(ledger, a_request(), question, read, salt=SALT)
    assert str(failure.value) == (
        "charged, not released: no answer could be given for dataset 'people', and the charge stays spent;"
        " tell an operator, who finds it in the audit log; to ask again is to be charged again, except by the same"
        " request id"
    )
    assert type(failure.value) is NotReleasedError
    assert failure.value.__cause__ is None
    assert failure.value.__context__ is None
    shown = "".join(traceback.TracebackException.from_exception(failure.value, capture_locals=True).format())
    assert SECRET not in shown
    assert SECRET not in caplog.text
    assert ledger.status("people").spent == 100_000_000
    entry = last_entry(engine)
    assert '"kind":"unreleased"' in entry
    assert f'"cause":"{kind}"' in entry
    assert SECRET not in entry
    ledger.verify_audit()


def test_after_a_failure_the_question_is_charged_anew_and_answered(ledger: Ledger) -> None:
    with suppress(NotReleasedError):
        ask(ledger, a_request(), COUNT, raise_at_once, salt=SALT)
    ask(ledger, a_request(), COUNT, lambda: rows(3), salt=SALT)
    assert ledger.status("people").spent == 200_000_000


def test_an_answer_that_cannot_be_stored_is_not_given(ledger: Ledger) -> None:
    class Broken(AesSealer):
        def seal(self, plaintext: bytes, aad: bytes) -> bytes:
            if b"stored answer" in aad:
                raise OSError(SECRET)
            return super().seal(plaintext, aad)

    ledger._sealer = Broken()
    with pytest.raises(NotReleasedError):
        ask(ledger, a_request(), COUNT, lambda: rows(3), salt=SALT)
    assert ledger.status("people").spent == 100_000_000


def test_when_not_even_the_failure_can_be_recorded_the_sentence_is_the_same(ledger: Ledger, engine: Engine) -> None:
    def read() -> list[Chunk]:
        ledger._transactions = ledger_on(create_engine("sqlite:////nowhere/at/all.db"))._transactions
        return rows(3)

    with pytest.raises(NotReleasedError, match="charged, not released") as failure:
        ask(ledger, a_request(), COUNT, read, salt=SALT)
    assert failure.value.__context__ is None
    assert ledger_on(engine).status("people").spent == 100_000_000


def test_when_the_keys_go_away_after_the_charge_the_sentence_is_the_same(ledger: Ledger) -> None:
    """Keys are somebody else's, and so are their errors."""

    def read() -> list[Chunk]:
        ledger._log.macs.newest = raise_at_once  # type: ignore[method-assign,assignment]
        return rows(3)

    with pytest.raises(NotReleasedError, match="charged, not released") as failure:
        ask(ledger, a_request(), COUNT, read, salt=SALT)
    assert failure.value.__context__ is None
    assert ledger.status("people").spent == 100_000_000


def test_an_empty_dataset_is_answered_like_any_other(ledger: Ledger) -> None:
    empty: list[Callable[[], list[Chunk]]] = [list, lambda: rows(0)]
    for number, read in enumerate(empty):
        assert len(ask(ledger, a_request(10**6, f"question {number}"), COUNT, read, salt=SALT).groups) == 1


def test_the_core_is_deterministic(ledger: Ledger) -> None:
    first, second = (
        ask_with_random(
            ledger, a_request(10**6, principal=who), COUNT, lambda: rows(3), salt=SALT, random=SeededRandom(1)
        )
        for who in ("ann", "bob")
    )
    assert first == second


def test_the_noise_is_about_the_data(ledger: Ledger) -> None:
    ledger.declare("people", 10**13, reason="a test", accept=True)
    n = sized(20, 500)
    answers = [
        ask(ledger, a_request(EPSILON, f"question {number}"), COUNT, lambda: rows(1000), salt=SALT)
        for number in range(n)
    ]
    assert abs(sum(answer.groups[0].value for answer in answers) / n - 1000) < 10 * (2 / n) ** 0.5


@pytest.mark.parametrize(("at", "read", "spent"), [(0, 0, 0), (1, 0, 1), (2, 1, 1), (3, 1, 1)])
def test_after_the_last_moment_nothing_is_charged_read_or_stored(
    ledger: Ledger, engine: Engine, at: int, read: int, spent: int
) -> None:
    """Looks at the clock: before the charge, before each batch, and once the lock is held to store."""
    times, batches = iter(range(100)), [*rows(3), *rows(5)]
    got: list[Chunk] = []

    def reading() -> Iterable[Chunk]:
        for batch in batches[: 1 if at == 2 else 2]:
            got.append(batch)
            yield batch

    until = LastMoment(at, lambda: next(times))
    with pytest.raises(NotReleasedError if spent else TooLateError):
        ask(ledger, a_request(), COUNT, reading, salt=SALT, until=until)
    assert (len(got) >= read, ledger.status("people").spent) == (True, spent * 100_000_000)
    if spent:
        assert '"cause":"TooLateError"' in last_entry(engine)
    assert ledger.verify_audit().answers == 0
    ask(ledger, a_request(), COUNT, lambda: rows(3), salt=SALT)
    assert ledger.status("people").spent == (1 + spent) * 100_000_000, "asked again, it is charged again"


def test_an_answer_that_is_stored_by_the_last_moment_is_given(ledger: Ledger) -> None:
    times = iter(range(100))
    until = LastMoment(4, lambda: next(times))
    first = ask(ledger, a_request(), COUNT, lambda: [*rows(3), *rows(5)], salt=SALT, until=until)
    assert ask(ledger, a_request(), COUNT, lambda: pytest.fail("it read the data"), salt=SALT) == first
