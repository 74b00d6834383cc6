"""The rows of scopes, changed only where they are what was read."""

from dataclasses import replace

import pytest
from sqlalchemy import Connection, Engine, select, text

from dp.errors import LedgerError
from dp.ledger.ledger import Ledger
from dp.ledger.limits.against import Against, read_against
from dp.ledger.limits.budgets import Budgets, Scope
from dp.ledger.limits.counter import Counter
from dp.ledger.limits.scope_rows import buckets_from, spending_scopes, sums_of
from dp.ledger.limits.spans import DAY, HOUR
from dp.ledger.place import Place
from dp.ledger.store.schema import scope, scope_bucket
from dp.ledger.store.writes import write
from tests.dp.ledger.sealing import ledger_on

pytestmark = pytest.mark.databases_in_turn

NOW = 1000 * DAY + HOUR // 2
SCOPES = (Scope("dataset", "", "day", 50), Scope("column", "age", "week", 50), Scope("analyst", "", "ever", 50))


@pytest.fixture
def scoped(engine: Engine) -> Ledger:
    ledger = ledger_on(engine, now=lambda: NOW)
    ledger.declare("people", Budgets(100, scopes=SCOPES))
    return ledger


def read(connection: Connection, at: int = NOW) -> Against:
    found = read_against(connection, Place("shared", "people", 1, "ab"), "ann", ["age"], at)
    assert found is not None
    return found


def windows(connection: Connection, at: int = NOW) -> dict[str, tuple[int, int]]:
    return {each.kind: (each.window.bucket, each.window.nano) for each in read(connection, at).counters}


def spend(connection: Connection, nano: dict[str, int], at: int = NOW) -> None:
    write(connection, spending_scopes("people", [(each, nano[each.kind]) for each in read(connection, at).counters]))


def test_what_each_costs_is_added_to_its_window_and_its_bucket(scoped: Ledger, engine: Engine) -> None:
    day, week = NOW // HOUR, NOW // DAY
    with engine.begin() as connection:
        spend(connection, {"dataset": 3, "column": 2, "analyst": 3})
        assert windows(connection) == {"dataset": (day, 3), "column": (week, 2), "analyst": (0, 3)}
        spend(connection, {"dataset": 1, "column": 1, "analyst": 1}, NOW + HOUR)
        assert windows(connection, NOW + HOUR) == {"dataset": (day + 1, 4), "column": (week, 3), "analyst": (0, 4)}
        assert buckets_from(connection, "people", ("dataset", "", "day"), day) == [(day, 3), (day + 1, 1)]
        assert sums_of(connection, "people")(("dataset", "", "day"))(day + 1) == 1
        assert windows(connection, NOW + 25 * HOUR)["dataset"] == (day + 25, 1)
        assert windows(connection, NOW + 26 * HOUR)["dataset"] == (day + 26, 0)
        assert windows(connection, NOW - 9 * DAY)["dataset"] == (day + 1, 4)


def test_an_analyst_without_a_row_gets_one(scoped: Ledger, engine: Engine) -> None:
    with engine.begin() as connection:
        spend(connection, {"dataset": 3, "column": 3, "analyst": 3})
        rows = select(scope.c.subject, scope.c.cap_nano_epsilon, scope.c.spent_nano_epsilon)
        own = connection.execute(rows.where(scope.c.kind == "analyst").order_by(scope.c.subject)).all()
        assert own == [("", 50, 0), ("ann", None, 3)]


@pytest.mark.parametrize("column", ["spent_nano_epsilon", "bucket"])
@pytest.mark.every_database
def test_a_row_that_changed_since_it_was_read_is_not_spent(scoped: Ledger, engine: Engine, column: str) -> None:
    with engine.begin() as connection:
        before = read(connection).counters
        connection.execute(text(f"UPDATE noisevault_scope SET {column} = {column} + 1 WHERE kind = 'dataset'"))
        for at in (NOW, NOW + HOUR):
            moved = [_at(each, at) for each in before]
            with pytest.raises(LedgerError, match="by somebody who did not lock the audit's head: verify the audit"):
                write(connection, spending_scopes("people", [(each, 1) for each in moved if each.kind == "dataset"]))
        connection.rollback()
    with engine.connect() as connection:
        assert connection.scalars(select(scope_bucket.c.nano_epsilon).distinct()).all() == [0]


def _at(counter: Counter, at: int) -> Counter:
    return replace(counter, window=counter.window.at(at, lambda first: 0))
