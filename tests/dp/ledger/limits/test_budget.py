"""Budgets: the caps and counters of a dataset."""

from contextlib import nullcontext
from math import inf
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from dp.accounting.concentrated import largest_rho
from dp.errors import BudgetExhaustedError, LedgerError, ParameterError
from dp.ledger.ledger import Ledger
from dp.ledger.limits.budget import MAX_LIFETIME_NANO, Status, read_status, spending
from dp.ledger.store.transaction import Transactions
from dp.ledger.store.writes import write
from dp.price import Price
from tests.dp.ledger.sealing import a_request
from tests.sizes import sized

pytestmark = pytest.mark.databases_in_turn

E18 = 10**18


@pytest.mark.parametrize("nano", [0, -1, MAX_LIFETIME_NANO + 1, True, 1.0, "1", None])
def test_a_lifetime_that_is_none_is_refused(ledger: Ledger, nano: object) -> None:
    with pytest.raises(ParameterError, match="lifetime_nano"):
        ledger.declare("people", nano)  # type: ignore[arg-type]


@pytest.mark.parametrize("delta", [-1, E18, 0.5])
def test_a_delta_that_is_none_is_refused(ledger: Ledger, delta: object) -> None:
    with pytest.raises(ParameterError, match="lifetime_atto_delta"):
        ledger.declare("people", 1, lifetime_atto_delta=delta)  # type: ignore[arg-type]


def _spent(engine: Engine, price: Price, epoch: int = 1) -> bool:
    """Whether it was within the lifetime."""
    try:
        Transactions(engine).run(lambda connection, _: write(connection, [spending("people", epoch, price)]))
    except LedgerError:
        return False
    return True


@pytest.mark.every_database
def test_the_largest_lifetime_can_be_spent_without_overflow(ledger: Ledger, engine: Engine) -> None:
    ledger.declare("people", MAX_LIFETIME_NANO, lifetime_atto_delta=E18 - 1, reason="a test", accept=True)
    largest = Price(MAX_LIFETIME_NANO, Price.pure(MAX_LIFETIME_NANO).nano_rho, E18 // 2 - 1)
    assert _spent(engine, largest)
    assert not _spent(engine, largest)
    status = ledger.status("people")
    assert (status.spent, status.remaining, status.spent_atto_delta) == (MAX_LIFETIME_NANO, 0, E18 // 2 - 1)
    assert status.spent_nano_rho == 5 * E18


def test_delta_is_capped_too_and_by_default_there_is_none(ledger: Ledger, engine: Engine) -> None:
    assert not _spent(engine, Price(1, 1, 1))
    ledger.declare("people", 10**9, lifetime_atto_delta=5, reason="a test", accept=True)
    assert _spent(engine, Price(1, 1, 2))  # half of the lifetime's, rounded down; the other half is for the sum of rho
    assert not _spent(engine, Price(1, 1, 1))
    assert ledger.status("people").spent == 1


def test_another_epoch_spends_nothing(ledger: Ledger, engine: Engine) -> None:
    assert not _spent(engine, Price.pure(1), epoch=2)
    with engine.connect() as connection:
        assert read_status(connection, "people") == ledger.status("people")
    assert ledger.status("people").spent == 0


MADE = {"dataset": "people", "epoch": 1, "lifetime_atto_delta": 0, "spent_atto_delta": 0}


def test_what_remains_is_never_negative() -> None:
    status = Status(lifetime=5, spent=7, spent_nano_rho=2, lifetime_nano_rho=1, **MADE)  # type: ignore[arg-type]
    assert (status.remaining, status.remaining_nano_rho, status.remaining_atto_delta) == (0, 0, 0)


@given(
    st.integers(1, 10**10), st.integers(0, 10**10), st.integers(0, 10**10), st.integers(0, 10**10), st.integers(0, 1)
)
def test_the_largest_question_fits_and_a_larger_one_does_not(
    lifetime: int, spent: int, lifetime_rho: int, rho: int, unbounded: int
) -> None:
    status = Status(
        lifetime=lifetime,
        spent=spent,
        spent_nano_rho=rho,
        lifetime_nano_rho=lifetime_rho,
        spent_unbounded=unbounded,
        **MADE,  # type: ignore[arg-type]
    )
    largest = status.largest_question
    assert largest == 0 or status.sums.plus(Price.pure(largest)).within(status.limits)
    assert not status.sums.plus(Price.pure(largest + 1)).within(status.limits)


def test_with_a_delta_a_hundred_small_answers_fit_where_the_sum_of_epsilon_does_not(
    ledger: Ledger, engine: Engine
) -> None:
    ledger.declare("people", 6 * 10**9, lifetime_atto_delta=2 * 10**12, reason="a test", accept=True)
    largest = ledger.status("people").lifetime_nano_rho
    many = largest // (5 * 10**6)
    assert many > 100
    assert sum(_spent(engine, Price.pure(10**8)) for _ in range(many + 5)) == many
    status = ledger.status("people")
    assert status.spent == many * 10**8 > status.lifetime
    assert status.spent_nano_rho <= largest


def test_after_an_answer_without_an_epsilon_the_sum_of_epsilon_lets_nothing_pass(
    ledger: Ledger, engine: Engine
) -> None:
    ledger.declare("people", 10**9, lifetime_atto_delta=10**12, reason="a test", accept=True)
    rho = ledger.status("people").lifetime_nano_rho
    assert not _spent(engine, Price.gaussian(rho + 1))
    assert _spent(engine, Price.gaussian(rho))
    assert not _spent(engine, Price.pure(1))
    status = ledger.status("people")
    assert (status.spent, status.spent_nano_rho, status.spent_unbounded, status.remaining) == (0, rho, 1, 0)
    ledger.declare("people", 2 * 10**9, lifetime_atto_delta=10**12, reason="a test", accept=True)
    assert _spent(engine, Price.pure(1))  # by the sum of rho, of which there is more now


@pytest.mark.parametrize("price", [Price.gaussian(2**63 - 1), Price.gaussian(2**63), Price.pure(10**18)])
def test_a_price_beyond_every_counter_is_refused(ledger: Ledger, engine: Engine, price: Price) -> None:
    ledger.declare("people", MAX_LIFETIME_NANO, lifetime_atto_delta=E18 - 1, reason="a test", accept=True)
    assert _spent(engine, Price.pure(1))
    assert not _spent(engine, price)
    assert not _spent(engine, Price(10**18, 10**18, 0))


@pytest.mark.every_database
def test_counters_never_leave_their_columns(ledger: Ledger, engine: Engine) -> None:
    ledger.declare("people", MAX_LIFETIME_NANO, lifetime_atto_delta=E18 - 1, reason="a test", accept=True)
    assert ledger.status("people").lifetime_nano_rho > 20
    assert sum(_spent(engine, Price(10**18, 1)) for _ in range(12)) == 9  # 9 times 10**18 is below 2**63
    assert ledger.status("people").spent == 9 * E18


PRICES = st.one_of(
    st.integers(1, 60).map(lambda hundredths: Price.pure(hundredths * 10**7)),
    st.integers(1, 10**7).map(Price.gaussian),
    st.builds(Price.approximate, st.integers(1, 3 * 10**8), st.integers(1, 4 * 10**11)),
    st.builds(Price, st.integers(1, 10**9), st.integers(1, 10**7)),
)


@settings(max_examples=sized(12, 200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    prices=st.lists(PRICES, min_size=1, max_size=20),
    lifetime=st.integers(5, 30),
    delta=st.sampled_from([0, 1, 10**12, 2 * 10**12]),
)
def test_whatever_the_prices_what_is_accepted_is_what_the_rule_says(
    ledger: Ledger, engine: Engine, prices: list[Price], lifetime: int, delta: int
) -> None:
    """The model keeps the list of what was accepted, and adds in fractions, infinity among them."""
    name = f"{uuid4()}"
    ledger.declare(name, lifetime * 10**8, lifetime_atto_delta=delta)
    rho_allowed = largest_rho(lifetime * 10**8, delta - delta // 2)
    accepted: list[Price] = []

    def fits(price: Price) -> bool:
        all_of_them = [*accepted, price]
        epsilon = sum(inf if each.nano_epsilon is None else each.nano_epsilon for each in all_of_them)
        in_epsilon = epsilon <= lifetime * 10**8
        in_rho = sum(each.nano_rho for each in all_of_them) <= rho_allowed
        return sum(each.atto_delta for each in all_of_them) <= delta // 2 and (in_epsilon or in_rho)

    for number, price in enumerate(prices):
        request = a_request(dataset=name, question_text=f"question {number}", price=price)
        expected = fits(price)
        with nullcontext() if expected else pytest.raises(BudgetExhaustedError, match="left"):
            ledger.charge(request)
        if expected:
            accepted.append(price)
    status = ledger.status(name)
    assert status.spent == sum(price.nano_epsilon or 0 for price in accepted)
    assert status.spent_nano_rho == sum(price.nano_rho for price in accepted)
    assert status.spent_atto_delta == sum(price.atto_delta for price in accepted)
    assert status.spent_unbounded == sum(price.nano_epsilon is None for price in accepted)
    ledger.verify_audit()
