"""Entries that somebody wants to see: the newest, in the order of the log, each checked."""

from typing import Any

import pytest
from sqlalchemy import Engine, text

from dp.errors import AuditError, ParameterError
from dp.ledger.ledger import Ledger
from dp.ledger.verifying import entries
from dp.ledger.verifying.entries import Wanted
from tests.dp.ledger.sealing import AuditKeys, a_request, ledger_on

pytestmark = pytest.mark.databases_in_turn


@pytest.fixture
def used(ledger: Ledger, engine: Engine, audit_keys: AuditKeys, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    """1 policy now; 2 to 13 charges of ann and bob in turns, at the microseconds 2 to 13."""
    monkeypatch.setattr(entries, "BEFORE", entries.BEFORE.limit(3))
    times = iter(range(2, 99))
    used = ledger_on(engine, audit=audit_keys, now=lambda: next(times))
    for number in range(12):
        used.charge(a_request(1000, f"question {number}", principal="ann" if number % 2 else "bob"))
    return used


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, list(range(1, 14))),
        ({"limit": 2}, [12, 13]),
        ({"principal": "bob", "limit": 2}, [10, 12]),
        ({"kind": "policy"}, [1]),
        ({"dataset": "people", "kind": "charge"}, list(range(2, 14))),
        ({"dataset": "PEOPLE"}, []),
        ({"since": 12}, [1, 12, 13]),
        ({"since": 4, "until": 6}, [4, 5]),
    ],
    ids=str,
)
def test_what_is_wanted_is_found(used: Ledger, wanted: dict[str, Any], found: list[int]) -> None:
    assert [entry["sequence"] for entry in used.entries(Wanted(**wanted))] == found


@pytest.mark.parametrize("limit", [0, -1, 1.5, True])
def test_a_limit_is_a_number_of_entries(limit: Any) -> None:
    with pytest.raises(ParameterError, match="limit"):
        Wanted(limit=limit)


def test_an_entry_that_was_changed_is_named(used: Ledger, engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE noisevault_audit SET entry = '{}' WHERE sequence = 5"))
    assert [entry["sequence"] for entry in used.entries(Wanted(limit=5))] == [9, 10, 11, 12, 13]
    with pytest.raises(AuditError, match="entry 5 was changed"):
        used.entries(Wanted())
