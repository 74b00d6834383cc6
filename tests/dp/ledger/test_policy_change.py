"""Declaring lifetimes and advancing epochs."""

import json
from typing import Any

import pytest
from sqlalchemy import Engine, select

from dp.errors import BudgetExhaustedError, ParameterError, UnknownDatasetError
from dp.ledger.errors import SoftLimitError
from dp.ledger.ledger import Ledger
from dp.ledger.store.schema import audit
from tests.dp.ledger.sealing import a_request

pytestmark = pytest.mark.databases_in_turn


def entries(engine: Engine) -> list[dict[str, Any]]:
    with engine.connect() as connection:
        return [json.loads(entry) for entry in connection.scalars(select(audit.c.entry).order_by(audit.c.sequence))]


def test_declaring_the_same_again_changes_and_logs_nothing(ledger: Ledger, engine: Engine) -> None:
    assert not ledger.declare("people", 10**9)
    assert [entry["kind"] for entry in entries(engine)] == ["policy"]


def test_another_cap_is_a_change_on_record_and_what_is_spent_stays_spent(ledger: Ledger, engine: Engine) -> None:
    ledger.charge(a_request(600_000_000))
    assert ledger.declare("people", 2 * 10**9, reason="a second year")
    assert (ledger.status("people").spent, ledger.status("people").remaining) == (600_000_000, 1_400_000_000)
    last = entries(engine)[-1]
    assert (last["kind"], last["before_nano_epsilon"], last["lifetime_nano_epsilon"]) == ("policy", 10**9, 2 * 10**9)
    assert (last["reason"], last["accepted"]) == ("a second year", False)
    ledger.verify_audit()


@pytest.mark.parametrize("lifetime", [5 * 10**8, 2 * 10**9])
def test_a_lifetime_alone_is_not_changed_without_a_reason_either(ledger: Ledger, engine: Engine, lifetime: int) -> None:
    with pytest.raises(ParameterError, match=r"reason.*'people' was declared before; say why it changes"):
        ledger.declare("people", lifetime)
    assert ledger.status("people").lifetime == 10**9
    assert len(entries(engine)) == 1


def test_a_lifetime_alone_is_not_raised_past_the_soft_limit_unless_that_is_accepted(ledger: Ledger) -> None:
    with pytest.raises(SoftLimitError, match="say that it is accepted"):
        ledger.declare("people", 11 * 10**9, reason="a large study")
    assert ledger.status("people").lifetime == 10**9
    assert ledger.declare("people", 11 * 10**9, reason="a large study", accept=True).warnings


def test_a_cap_below_what_is_spent_leaves_nothing(ledger: Ledger) -> None:
    ledger.charge(a_request(600_000_000))
    ledger.declare("people", 500_000_000, reason="a shorter study")
    assert (ledger.status("people").spent, ledger.status("people").remaining) == (600_000_000, 0)
    with pytest.raises(BudgetExhaustedError, match=" 0 left"):
        ledger.charge(a_request(1, "another"))


def test_an_epoch_gives_back_nothing_and_says_why_it_is_new(ledger: Ledger, engine: Engine) -> None:
    ledger.charge(a_request(600_000_000))
    assert ledger.advance_epoch("people", "load of May") == 2
    assert (ledger.status("people").epoch, ledger.status("people").spent) == (2, 600_000_000)
    assert entries(engine)[-1]["reason"] == "load of May"
    ledger.verify_audit()


def test_a_dataset_nobody_declared_is_named(ledger: Ledger) -> None:
    with pytest.raises(UnknownDatasetError, match=r"'nobody'.*declare"):
        ledger.advance_epoch("nobody", "why")
    with pytest.raises(UnknownDatasetError, match=r"'nobody'.*declare"):
        ledger.status("nobody")


@pytest.mark.parametrize("name", ["", " people", "people ", "a\nb", "x" * 191, "nul\0", "\ud83d", None])
def test_a_name_that_servers_would_read_differently_is_refused(ledger: Ledger, name: str) -> None:
    with pytest.raises(ParameterError, match="dataset"):
        ledger.declare(name, 1)
