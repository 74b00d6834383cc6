"""Scopes counted anew from the log alone, and held against the tables."""

import itertools
from collections.abc import Callable

import pytest
from sqlalchemy import Engine, text

from dp.errors import AuditError
from dp.ledger.ledger import Ledger
from dp.ledger.limits.budgets import Budgets, Scope
from dp.ledger.limits.spans import DAY, HOUR
from dp.ledger.verifying.recount_scopes import ScopeRecount
from tests.dp.ledger.limits.test_room import NOON, Clock
from tests.dp.ledger.sealing import a_request, ledger_on

pytestmark = pytest.mark.databases_in_turn

SCOPES = (
    Scope("dataset", "", "day", 100),
    Scope("column", "age", "week", 100),
    Scope("analyst", "", "ever", 100),
    Scope("group", "g", "month", 100),
)


@pytest.fixture
def used(engine: Engine) -> Ledger:
    """Charges of 5 and 7 a week apart; the cap of the column was taken away between them."""
    clock = Clock()
    ledger = ledger_on(engine, now=clock)
    ledger.declare("people", Budgets(1000, scopes=SCOPES, members=(("g", "ann"),), most_nano=50, source="ab" * 32))
    ledger.charge(a_request(5, "one", columns=("age",)))
    fewer = (SCOPES[0], SCOPES[3])
    ledger.declare("people", Budgets(1000, scopes=fewer, members=(("g", "bob"),), most_nano=50), reason="fewer")
    clock.time += 7 * DAY
    ledger.charge(a_request(7, "two", columns=("age",), principal="bob"))
    return ledger


@pytest.mark.every_database
def test_a_ledger_nobody_touched_is_sound(used: Ledger) -> None:
    assert used.verify_audit().charges == 2


def _sql(statement: str) -> Callable[[Engine], None]:
    def run(engine: Engine) -> None:
        with engine.begin() as connection:
            assert connection.execute(text(statement)).rowcount > 0

    return run


TAMPERING = [
    ("UPDATE noisevault_scope SET spent_nano_epsilon = 0 WHERE kind = 'dataset'", "noisevault_scope has "),
    ("UPDATE noisevault_scope SET cap_nano_epsilon = 101 WHERE kind = 'dataset'", "noisevault_scope has "),
    ("UPDATE noisevault_scope SET cap_nano_epsilon = 101 WHERE kind = 'column'", "noisevault_scope has "),
    ("UPDATE noisevault_scope SET cap_nano_epsilon = NULL WHERE kind = 'group'", "noisevault_scope has "),
    ("UPDATE noisevault_scope SET bucket = bucket + 1 WHERE kind = 'column'", "noisevault_scope has "),
    ("DELETE FROM noisevault_scope WHERE subject = 'ann'", "noisevault_scope has no row for"),
    ("UPDATE noisevault_scope SET subject = 'eve' WHERE subject = 'ann'", "noisevault_scope has "),
    ("UPDATE noisevault_scope_bucket SET nano_epsilon = 0 WHERE nano_epsilon = 7", "noisevault_scope_bucket has (0,)"),
    ("DELETE FROM noisevault_scope_bucket WHERE nano_epsilon = 5", "noisevault_scope_bucket has no row for"),
    ("UPDATE noisevault_scope_member SET principal = 'eve'", "noisevault_scope_member has "),
    ("UPDATE noisevault_budget SET most_nano_epsilon = 0", "'people' has most_nano_epsilon 0"),
    ("UPDATE noisevault_budget SET source = 'x'", "'people' has source x"),
    ("UPDATE noisevault_budget SET separate = 'x'", "'people' has separate x"),
]


@pytest.mark.parametrize(("statement", "named"), TAMPERING, ids=[statement for statement, _ in TAMPERING])
def test_what_was_changed_is_found_and_named(used: Ledger, engine: Engine, statement: str, named: str) -> None:
    _sql(statement)(engine)
    with pytest.raises(AuditError) as failure:
        used.verify_audit()
    assert named in str(failure.value)


def test_windows_follow_from_buckets_and_new_scopes_begin_at_their_entry() -> None:
    recount = ScopeRecount()
    policy = {"dataset": "a", "members": [], "at": NOON, "scopes": [["dataset", "", "day", 9]]}
    recount.declare(policy)
    key = ("a", "dataset", "", "day")
    assert recount.buckets[key] == {NOON // HOUR: 0}
    recount.charge({"dataset": "a", "scopes": [["dataset", "", "day", NOON // HOUR, 3]]})
    recount.declare({**policy, "at": NOON + DAY})
    assert (recount.caps[key], recount.buckets[key]) == (9, {NOON // HOUR: 3})


def test_what_is_declared_or_charged_is_so_at_the_time_of_its_entry(engine: Engine) -> None:
    """The clock goes on between any two looks at it."""
    ticks = itertools.count(NOON, 2 * DAY)
    ledger = ledger_on(engine, now=lambda: next(ticks))
    ledger.declare("people", Budgets(1000, scopes=SCOPES))
    ledger.charge(a_request(5, "one", columns=("age",)))
    assert ledger.verify_audit().charges == 1
