"""Asking a batch: charged once at the plan's price, answered as a whole or not at all."""

import traceback
from collections.abc import Callable, Iterable, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from dp.accounting.kov import kov_epsilon
from dp.answers import Answers
from dp.ask import ask
from dp.ask_batch import ask_batch, ask_batch_with_random
from dp.batch import batch_price
from dp.caps import Caps
from dp.chunk import Chunk
from dp.errors import BudgetExhaustedError, NotReleasedError, ParameterError
from dp.grid import Grid
from dp.ledger.ledger import Ledger
from dp.ledger.limits.budgets import Budgets, Scope
from dp.plan import plan
from dp.price import Price
from dp.questions.mean import Mean
from dp.questions.question import Question
from dp.questions.sum import Sum
from dp.split import equal_shares
from tests.dp.ledger.sealing import a_request, ledger_on
from tests.dp.questions.every import additive, choosing
from tests.dp.seeded import SeededRandom
from tests.dp.test_ask import COUNT, EPSILON, FAILURES, NEAR, SALT, SECRET, engine, last_entry, ledger, rows
from tests.dp.test_batch import MILLIONTH
from tests.sizes import sized

__all__ = ["engine", "ledger"]
TENTH = 10**8
Read = Callable[[], Iterable[Chunk]]


def never() -> list[Chunk]:
    pytest.fail("it read the data")


def asked(
    ledger: Ledger, texts: Iterable[str], read: Read = lambda: rows(3), *, nano: int = TENTH, atto_delta: int = 0
) -> Answers:
    requests = [a_request(nano, text) for text in texts]
    n = len(requests)
    return ask_batch(ledger, requests, [COUNT] * n, [read] * n, salt=SALT, atto_delta=atto_delta)


def test_there_is_one_charge_committed_before_any_question_reads(ledger: Ledger, engine: Engine) -> None:
    spent = []

    def read() -> list[Chunk]:
        spent.append(ledger_on(engine).status("people").spent)
        return rows(3)

    answers = asked(ledger, ["b", "a"], read)
    assert spent == [2 * TENTH] * 2
    assert [(answer.question, answer.nano_epsilon) for answer in answers.answers] == [("a", TENTH), ("b", TENTH)]
    assert answers.price == plan([Price.pure(TENTH)] * 2, 0).price
    ledger.verify_audit()


def test_at_a_delta_that_helps_the_bound_of_the_batch_is_charged(ledger: Ledger) -> None:
    ledger.declare("people", 20 * EPSILON, lifetime_atto_delta=4 * MILLIONTH, reason="a test", accept=True)
    answers = asked(ledger, map(str, range(40)), atto_delta=MILLIONTH)
    status = ledger.status("people")
    assert answers.price.nano_epsilon == status.spent == kov_epsilon([TENTH] * 40, MILLIONTH) < 40 * TENTH
    assert status.spent_nano_rho == 40 * 5_000_000
    assert answers.price.atto_delta == MILLIONTH
    assert len(answers.answers) == 40
    ledger.verify_audit()


@pytest.mark.parametrize(
    ("nanos", "spent"), [([EPSILON // 2] * 3, 3 * EPSILON // 2), (equal_shares(EPSILON // 2, 3), EPSILON // 2)]
)
def test_k22_05_a_count_a_sum_and_a_mean_in_one_request_each_cost_their_own(
    ledger: Ledger, engine: Engine, nanos: Sequence[int], spent: int
) -> None:
    """A mean is a sum and a count: both are within its own price. Each column is charged by those that touch it."""
    scopes = (Scope("column", "age", "ever", 2 * EPSILON), Scope("column", "city", "day", 2 * EPSILON))
    ledger.declare("people", Budgets(2 * EPSILON, scopes=scopes), reason="columns")
    grid = Grid.of(0, 100, 1)
    questions: list[Question] = [COUNT, Sum(Caps(1), grid), Mean(Caps(1), grid)]
    columns: list[tuple[str, ...]] = [("city",), ("age",), ("age", "city")]
    requests = [
        a_request(nano, text, columns=touched)
        for nano, text, touched in zip(nanos, ("count", "sum", "mean"), columns, strict=True)
    ]
    reads = [lambda: rows(3)] * 3
    answers = ask_batch(ledger, requests, questions, reads, salt=SALT)
    assert answers.price == Price(spent, sum(Price.pure(nano).nano_rho for nano in nanos))
    assert ledger.status("people").spent == spent
    mean = answers.to("mean")
    assert mean.nano_epsilon == nanos[2]
    assert len(mean.noise) == 2
    of_columns = {status.scope.subject: status.spent_nano for status in ledger.scopes("people")}
    assert of_columns == {"age": nanos[1] + nanos[2], "city": nanos[0] + nanos[2]}
    ledger.verify_audit()


def test_a_column_is_charged_no_more_than_the_batch_costs(ledger: Ledger) -> None:
    budgets = Budgets(20 * EPSILON, 4 * MILLIONTH, (Scope("column", "age", "ever", 20 * EPSILON),))
    ledger.declare("people", budgets, reason="a column", accept=True)
    requests = [a_request(TENTH, str(n), columns=("age",) if n else ()) for n in range(40)]
    reads = [lambda: rows(3)] * 40
    answers = ask_batch(ledger, requests, [COUNT] * 40, reads, salt=SALT, atto_delta=MILLIONTH)
    assert ledger.scopes("people")[0].spent_nano == answers.price.nano_epsilon
    assert answers.price.nano_epsilon is not None
    assert answers.price.nano_epsilon < 39 * TENTH


def test_a_repeat_is_free_in_any_order_and_at_a_delta_that_buys_nothing(ledger: Ledger) -> None:
    first = asked(ledger, "abc")
    for texts in ("abc", "cab"):
        assert asked(ledger, texts, never) == first
    assert asked(ledger, "abc", never, atto_delta=MILLIONTH) == first
    assert ledger.status("people").spent == 3 * TENTH


def test_a_batch_that_was_answered_is_given_when_nothing_is_left(ledger: Ledger) -> None:
    first = asked(ledger, "ab", nano=EPSILON // 2)
    assert asked(ledger, "ab", never, nano=EPSILON // 2) == first


def test_it_is_refused_as_a_whole_where_it_does_not_fit(ledger: Ledger) -> None:
    with pytest.raises(BudgetExhaustedError):
        asked(ledger, "abc", never, nano=EPSILON // 2)
    assert ledger.status("people").spent == 0
    with pytest.raises(BudgetExhaustedError):  # no delta was declared
        asked(ledger, map(str, range(40)), never, nano=EPSILON // 100, atto_delta=10**16)
    assert ledger.status("people").spent == 0


def test_what_is_wrong_with_one_question_costs_nothing(ledger: Ledger) -> None:
    bad = a_request(1, "mean(x)")
    mean = Mean(Caps(1), Grid.of(0, 10, 1))
    for requests, questions in (
        ([a_request(), bad], [COUNT, mean]),
        ([a_request(), a_request()], [COUNT, COUNT]),
        ([a_request()], [COUNT, COUNT]),
    ):
        with pytest.raises(ParameterError):
            ask_batch(ledger, requests, questions, [never] * 2, salt=SALT)
    assert ledger.status("people").spent == 0


def test_a_batch_of_one_question_is_that_question(ledger: Ledger) -> None:
    alone = ask(ledger, a_request(), COUNT, lambda: rows(3), salt=SALT)
    batch = asked(ledger, ["COUNT(*)"], never, atto_delta=10**17)
    assert (batch.answers, batch.price) == ((alone,), Price.pure(TENTH))
    first = asked(ledger, ["another"])
    assert ask(ledger, a_request(TENTH, "another"), COUNT, never, salt=SALT) == first.to("another")
    assert ledger.status("people").spent == 2 * TENTH


def test_what_was_answered_alone_is_paid_for_again_in_a_batch(ledger: Ledger) -> None:
    asked(ledger, "a")
    asked(ledger, "ab")
    assert ledger.status("people").spent == 3 * TENTH


@pytest.mark.parametrize(("question", "read", "kind"), FAILURES, ids=[kind for _, _, kind in FAILURES])
def test_what_goes_wrong_with_one_after_the_charge_is_told_of_all_in_one_sentence(
    ledger: Ledger, engine: Engine, question: Question, read: Read, kind: str
) -> None:
    requests = [a_request(TENTH, text) for text in "ab"]
    with pytest.raises(NotReleasedError, match="charged, not released: no answer could be given") as failure:
        ask_batch(ledger, requests, [COUNT, question], [lambda: rows(3), read], salt=SALT)
    assert failure.value.__cause__ is None
    assert failure.value.__context__ is None
    shown = "".join(traceback.TracebackException.from_exception(failure.value, capture_locals=True).format())
    assert SECRET not in shown
    assert ledger.status("people").spent == 2 * TENTH
    entry = last_entry(engine)
    assert '"kind":"unreleased"' in entry
    assert f'"cause":"{kind}"' in entry
    ledger.verify_audit()


def test_a_crash_after_the_charge_leaves_it_charged_and_the_next_is_a_new_charge(
    ledger: Ledger, engine: Engine
) -> None:
    class Crash(BaseException):
        pass

    def crash() -> list[Chunk]:
        raise Crash

    with pytest.raises(Crash):
        asked(ledger, "ab", crash)
    assert ledger_on(engine).status("people").spent == 2 * TENTH
    asked(ledger, "ab")
    assert ledger.status("people").spent == 4 * TENTH
    ledger.verify_audit()


def test_every_question_can_stand_in_a_batch(ledger: Ledger) -> None:
    questions: list[Question] = [*additive(NEAR, Caps(1), 2), *choosing(NEAR, Caps(1), 2)]
    ledger.declare("people", EPSILON * len(questions), reason="a test", accept=True)
    requests = [
        a_request(EPSILON, f"question {n}", group_labels=tuple(map(str, range(question.n_groups))))
        for n, question in enumerate(questions)
    ]
    reads = [lambda: rows(50)] * len(questions)
    first = ask_batch(ledger, requests, questions, reads, salt=SALT)
    assert ask_batch(ledger, requests, questions, [never] * len(questions), salt=SALT) == first
    assert ledger.status("people").remaining == 0


def test_gaussian_questions_leave_only_the_sum_of_rho(ledger: Ledger) -> None:
    ledger.declare("people", EPSILON, lifetime_atto_delta=10**15, reason="a test", accept=True)
    requests = [a_request(question_text=text, price=Price.gaussian(10**6)) for text in "ab"]
    answers = ask_batch(ledger, requests, [COUNT] * 2, [lambda: rows(3)] * 2, salt=SALT, atto_delta=MILLIONTH)
    assert answers.price == Price.gaussian(2 * 10**6)
    assert ledger.status("people").spent_nano_rho == 2 * 10**6


BATCHES = st.dictionaries(st.text(min_size=1, max_size=3), st.integers(10**5, 10**8), min_size=1, max_size=5)


@settings(deadline=None, max_examples=sized(8, 200), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(BATCHES, st.sampled_from([0, 10**10, 10**15]), st.randoms())
def test_what_is_charged_is_the_price_of_the_batch_once(
    ledger: Ledger, questions: dict[str, int], delta: int, shuffle: object
) -> None:
    ledger.declare("people", 10**14, lifetime_atto_delta=9 * 10**17, reason="a test", accept=True)
    epoch = ledger.advance_epoch("people", "another example")
    before = ledger.status("people")
    pairs = list(questions.items())
    want = batch_price([Price.pure(nano) for nano in questions.values()], delta)
    for read in (lambda: rows(3), never):
        requests = [a_request(nano, text, epoch=epoch) for text, nano in pairs]
        found = ask_batch(ledger, requests, [COUNT] * len(pairs), [read] * len(pairs), salt=SALT, atto_delta=delta)
        shuffle.shuffle(pairs)  # type: ignore[attr-defined]
        after = ledger.status("people")
        assert found.price == want
        assert after.spent - before.spent == want.nano_epsilon
        assert before.remaining_atto_delta - after.remaining_atto_delta == want.atto_delta
        assert after.spent_nano_rho - before.spent_nano_rho == want.nano_rho


def test_the_core_is_deterministic(ledger: Ledger) -> None:
    first, second = (
        ask_batch_with_random(
            ledger,
            [a_request(10**6, text, principal=who) for text in "ab"],
            [COUNT] * 2,
            [lambda: rows(3)] * 2,
            salt=SALT,
            random=SeededRandom(1),
        )
        for who in ("ann", "bob")
    )
    assert first == second
