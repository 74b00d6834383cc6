"""What scopes have spent."""

import pytest
from sqlalchemy import Engine

from dp.errors import UnknownDatasetError
from dp.ledger.ledger import Ledger
from dp.ledger.limits.budgets import Budgets, Scope
from dp.ledger.limits.scope_status import ScopeStatus
from dp.ledger.limits.spans import DAY, HOUR
from tests.dp.ledger.limits.test_room import NOON, Clock
from tests.dp.ledger.sealing import a_request, ledger_on

pytestmark = pytest.mark.databases_in_turn


def test_beside_the_window_stands_what_was_ever_spent_and_when_it_refills(engine: Engine) -> None:
    clock = Clock()
    ledger = ledger_on(engine, now=clock)
    day, each, own = Scope("dataset", "", "day", 9), Scope("analyst", "", "ever", 8), Scope("analyst", "bob", "week", 7)
    ledger.declare("people", Budgets(100, scopes=(day, each, own)))
    assert [(s.spent_nano, s.ever_nano, s.refills_at) for s in ledger.scopes("people")] == [(0, 0, None)] * 3
    ledger.charge(a_request(3, "a"))
    clock.time += 2 * HOUR
    ledger.charge(a_request(4, "b", principal="bob"))
    ann, bob = Scope("analyst", "ann", "ever", 8), Scope("analyst", "bob", "ever", 8)
    week = ScopeStatus(own, 4, 4, (NOON // DAY + 8) * DAY)
    analysts = (ScopeStatus(each, 0, 0, None), ScopeStatus(ann, 3, 3, None), ScopeStatus(bob, 4, 4, None), week)
    assert ledger.scopes("people") == (*analysts, ScopeStatus(day, 7, 7, NOON + 25 * HOUR))
    clock.time = NOON + 25 * HOUR
    assert ledger.scopes("people") == (*analysts, ScopeStatus(day, 4, 7, NOON + 27 * HOUR))
    assert [status.remaining_nano for status in ledger.scopes("people")] == [8, 5, 4, 3, 5]
    ledger.declare("people", Budgets(100, scopes=(Scope("dataset", "", "day", 2),)), reason="only the day")
    (status,) = ledger.scopes("people")
    assert (status.spent_nano, status.remaining_nano) == (4, 0)


def test_a_dataset_nobody_declared_is_named(ledger: Ledger) -> None:
    assert ledger.scopes("people") == ()
    with pytest.raises(UnknownDatasetError, match="'nobody'"):
        ledger.scopes("nobody")
