"""Budgets: the caps and counters of a dataset."""

import pytest
from sqlalchemy import Engine

from dp.errors import ParameterError
from dp.ledger.budget import MAX_LIFETIME_NANO, Status, read_status, spend
from dp.ledger.ledger import Ledger
from dp.ledger.transaction import Transactions
from dp.price import Price

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
    return Transactions(engine).run(lambda connection, _: spend(connection, "people", epoch, price))


def test_the_largest_lifetime_can_be_spent_without_overflow(ledger: Ledger, engine: Engine) -> None:
    ledger.declare("people", MAX_LIFETIME_NANO, lifetime_atto_delta=E18 - 1)
    largest = Price(MAX_LIFETIME_NANO, Price.pure(MAX_LIFETIME_NANO).nano_rho, E18 - 1)
    assert _spent(engine, largest)
    assert not _spent(engine, largest)
    status = ledger.status("people")
    assert (status.spent, status.remaining, status.spent_atto_delta) == (MAX_LIFETIME_NANO, 0, E18 - 1)
    assert status.spent_nano_rho == 5 * E18


def test_delta_is_capped_too_and_by_default_there_is_none(ledger: Ledger, engine: Engine) -> None:
    assert not _spent(engine, Price(1, 1, 1))
    ledger.declare("people", 10**9, lifetime_atto_delta=5)
    assert _spent(engine, Price(1, 1, 5))
    assert not _spent(engine, Price(1, 1, 1))
    assert ledger.status("people").spent == 1


def test_another_epoch_spends_nothing(ledger: Ledger, engine: Engine) -> None:
    assert not _spent(engine, Price.pure(1), epoch=2)
    with engine.connect() as connection:
        assert read_status(connection, "people") == ledger.status("people")
    assert ledger.status("people").spent == 0


def test_what_remains_is_never_negative() -> None:
    assert (
        Status("people", 1, lifetime=5, spent=7, spent_nano_rho=0, lifetime_atto_delta=0, spent_atto_delta=0).remaining
        == 0
    )
