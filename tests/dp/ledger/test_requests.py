"""A request that comes again by its id gets what became of it, and is charged once."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine, select, text

from dp.answer import Answer
from dp.ask import ask
from dp.ask_batch import ask_batch
from dp.caps import Caps
from dp.errors import (
    AuditError,
    BudgetExhaustedError,
    DpError,
    NotReleasedError,
    ParameterError,
    RequestIdError,
    UnknownDatasetError,
)
from dp.ledger.answers import Claim
from dp.ledger.errors import QuestionPriceError, StaleEpochError
from dp.ledger.ledger import Ledger
from dp.ledger.limits.budgets import Budgets, Scope
from dp.ledger.store.schema import audit, charge, request
from dp.price import Price
from dp.questions.count import Count
from tests.dp.ledger.charging import three_units, together
from tests.dp.ledger.sealing import a_request, ledger_on

pytestmark = pytest.mark.databases_in_turn

TENTH = 100_000_000


def claimed(ledger: Ledger, **others: Any) -> Claim:
    claim = ledger.charge(a_request(**others))
    assert isinstance(claim, Claim)
    return claim


def entries(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return list(connection.scalars(select(audit.c.entry).order_by(audit.c.sequence)))


def test_k24_05_the_same_request_again_is_answered_and_charged_once(ledger: Ledger) -> None:
    """A client that heard nothing sends its request again; then the same id with other parameters."""
    first = ask(ledger, a_request(request_id="r-1"), Count(Caps(1)), three_units, salt=b"salt")
    for _ in range(2):
        again = ask(ledger, a_request(request_id="r-1"), Count(Caps(1)), lambda: pytest.fail("read"), salt=b"salt")
        assert isinstance(again, Answer)
        assert again == first
    assert ledger.status("people").spent == TENTH
    with pytest.raises(RequestIdError, match="was used before, for another question"):
        ask(ledger, a_request(request_id="r-1"), Count(Caps(2)), lambda: pytest.fail("read"), salt=b"salt")
    assert ledger.status("people").spent == TENTH
    ledger.verify_audit()


@pytest.mark.parametrize(
    "other",
    [
        {"question_text": "another"},
        {"nano_epsilon": 5},
        {"price": Price.approximate(TENTH, 5)},
        {"parameters": "bounds"},
        {"group_labels": ("a",)},
        {"dataset": "others"},
        {"epoch": 2},
        {"shared": True},
    ],
    ids=str,
)
def test_an_id_is_refused_to_every_other_question(ledger: Ledger, engine: Engine, other: dict[str, Any]) -> None:
    ledger.declare("others", 10**9)
    ledger.store(claimed(ledger, request_id="r-1"), b"41.5")
    with pytest.raises(RequestIdError):
        ledger.charge(a_request(request_id="r-1", **other))
    assert '"reason":"request id"' in entries(engine)[-1]
    assert (ledger.status("people").spent, ledger.status("others").spent) == (TENTH, 0)
    assert ledger.charge(a_request(request_id="r-1")) == b"41.5"
    ledger.verify_audit()


@pytest.mark.every_database
def test_an_id_is_its_principals_own(ledger: Ledger) -> None:
    ledger.store(claimed(ledger, request_id="r-1"), b"ann's")
    claimed(ledger, request_id="r-1", principal="bob", question_text="another")
    claimed(ledger, request_id="R-1", question_text="another")  # ids that differ in case are two ids
    assert ledger.charge(a_request(request_id="r-1")) == b"ann's"
    ledger.verify_audit()


def test_while_an_answer_is_computed_the_id_is_charged_and_not_released(ledger: Ledger) -> None:
    claim = claimed(ledger, request_id="r-1")
    with pytest.raises(NotReleasedError, match="charged, not released"):
        ledger.charge(a_request(request_id="r-1"))
    ledger.store(claim, b"41.5")
    assert ledger.charge(a_request(request_id="r-1")) == b"41.5"
    assert ledger.status("people").spent == TENTH
    ledger.verify_audit()


def test_an_id_that_was_charged_and_not_released_stays_so(ledger: Ledger) -> None:
    def read() -> Any:
        raise OSError

    told = set()
    for _ in range(3):
        with pytest.raises(NotReleasedError) as failure:
            ask(ledger, a_request(request_id="r-1"), Count(Caps(1)), read, salt=b"salt")
        told.add(str(failure.value))
    assert len(told) == 1
    assert ledger.status("people").spent == TENTH
    ask(ledger, a_request(request_id="r-2"), Count(Caps(1)), three_units, salt=b"salt")
    assert ledger.status("people").spent == 2 * TENTH
    ledger.verify_audit()


def test_an_id_gets_the_answer_that_was_there_before(ledger: Ledger, engine: Engine) -> None:
    ledger.store(claimed(ledger), b"41.5")
    for _ in range(2):
        assert ledger.charge(a_request(request_id="r-1")) == b"41.5"
    with engine.connect() as connection:
        (row,) = connection.execute(select(request))
    assert (row.outcome, row.charge_id, row.reason) == ("repeat", None, None)
    with pytest.raises(RequestIdError):
        ledger.charge(a_request(request_id="r-1", question_text="another"))
    ledger.verify_audit()


def _exhausted(ledger: Ledger) -> None:
    ledger.declare("people", TENTH - 1, reason="a test", accept=True)


def _stale(ledger: Ledger) -> None:
    ledger.advance_epoch("people", "new data")


def _dear(ledger: Ledger) -> None:
    ledger.declare("people", Budgets(10**9, least_nano=2 * TENTH), reason="a test")


def _in_a_window(ledger: Ledger) -> None:
    scope = Scope("dataset", "", "day", TENTH - 1)
    ledger.declare("people", Budgets(10**9, scopes=(scope,)), reason="a test")


REFUSED: list[tuple[type[DpError], Callable[[Ledger], None], dict[str, Any]]] = [
    (BudgetExhaustedError, _exhausted, {}),
    (BudgetExhaustedError, lambda _: None, {"price": Price.gaussian(10**6)}),
    (BudgetExhaustedError, lambda _: None, {"price": Price.approximate(TENTH, 5)}),
    (BudgetExhaustedError, _in_a_window, {}),
    (QuestionPriceError, _dear, {}),
    (StaleEpochError, _stale, {}),
    (UnknownDatasetError, lambda _: None, {"dataset": "nobody's"}),
]


@pytest.mark.parametrize(("kind", "prepare", "other"), REFUSED, ids=lambda value: getattr(value, "__name__", None))
def test_a_refusal_is_the_same_refusal_again_whatever_there_is_by_now(
    ledger: Ledger, kind: type[DpError], prepare: Callable[[Ledger], None], other: dict[str, Any]
) -> None:
    prepare(ledger)
    with pytest.raises(kind) as first:
        ledger.charge(a_request(request_id="r-1", **other))
    roomy = Budgets(10**10, lifetime_atto_delta=10**15)
    ledger.declare("people", roomy, reason="a test", accept=True)
    ledger.declare("nobody's", 10**10)
    with pytest.raises(kind) as again:
        ledger.charge(a_request(request_id="r-1", **other))
    assert (str(again.value), vars(again.value)) == (str(first.value), vars(first.value))
    assert type(again.value) is type(first.value)
    assert ledger.status("people").spent == 0
    ledger.verify_audit()


def test_a_refusal_without_its_entry_says_what_to_do(ledger: Ledger, engine: Engine) -> None:
    _exhausted(ledger)
    with pytest.raises(BudgetExhaustedError):
        ledger.charge(a_request(request_id="r-1"))
    with engine.begin() as connection:
        connection.execute(text("UPDATE noisevault_request SET audit_sequence = 1"))
    with pytest.raises(AuditError, match="verify the audit"):
        ledger.charge(a_request(request_id="r-1"))


def test_a_batch_has_one_id(ledger: Ledger) -> None:
    def of(*ids: str | None) -> Any:
        requests = [a_request(TENTH, f"question {n}", request_id=each) for n, each in enumerate(ids)]
        return ask_batch(ledger, requests, [Count(Caps(1))] * 2, [three_units] * 2, salt=b"salt")

    first = of("r-1", "r-1")
    assert of("r-1", "r-1") == first
    assert ledger.status("people").spent == 2 * TENTH
    with pytest.raises(ParameterError, match="and id"):
        of("r-1", "r-2")
    with pytest.raises(RequestIdError):
        ask(ledger, a_request(request_id="r-1"), Count(Caps(1)), three_units, salt=b"salt")


@pytest.mark.every_database
def test_a_commit_whose_answer_was_lost_is_still_one_charge(ledger: Ledger, engine: Engine) -> None:
    """The transaction is run again, told that it may have been committed; the id is there by its own charge then."""
    claim = claimed(ledger, request_id="r-1")
    other = ledger_on(engine, draw=lambda size: bytes.fromhex(claim.charge_id))
    other._transactions.run = lambda work: type(ledger._transactions).run(  # type: ignore[method-assign]
        ledger._transactions, lambda connection, _: work(connection, True)
    )
    assert other.charge(a_request(request_id="r-1")) == claim
    assert ledger.status("people").spent == TENTH


def send_the_same(barrier: Any, url: str, rounds: int) -> list[str]:
    """The same ids from several processes at once: what each was told."""
    from sqlalchemy import create_engine

    engine = create_engine(url)
    ledger = ledger_on(engine)
    told = []
    for number in range(rounds):
        barrier.wait()
        try:
            outcome = ledger.charge(a_request(10**6, f"question {number}", request_id=f"r-{number}"))
        except NotReleasedError:
            told.append("not released")
        else:
            told.append("charged" if isinstance(outcome, Claim) else "answered")
    engine.dispose()
    return told


@pytest.mark.every_database
def test_of_processes_that_send_one_id_at_once_one_is_charged(
    ledger: Ledger, engine: Engine, database_url: str
) -> None:
    rounds = 5
    outcomes = together(send_the_same, [(database_url, rounds)] * 4)
    for each in zip(*outcomes, strict=True):
        assert sorted(each) == ["charged", "not released", "not released", "not released"]
    assert ledger.status("people").spent == rounds * 10**6
    with engine.connect() as connection:
        assert sorted(connection.scalars(select(charge.c.request_id))) == [f"r-{n}" for n in range(rounds)]
    ledger.verify_audit()
