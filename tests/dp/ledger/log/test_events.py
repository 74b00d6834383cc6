"""Events of elsewhere are in the log once."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, create_engine, select

from dp.errors import ParameterError
from dp.ledger.ledger import Ledger
from dp.ledger.log import events
from dp.ledger.log.events import Event
from dp.ledger.store.schema import audit
from tests.dp.ledger.charging import together
from tests.dp.ledger.sealing import ledger_on

pytestmark = pytest.mark.databases_in_turn


def told(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        entries = map(json.loads, connection.scalars(select(audit.c.entry).order_by(audit.c.sequence)))
        return [entry["event"] for entry in entries if entry["kind"] == "event"]


def test_what_is_told_again_is_not_written_again(ledger: Ledger, engine: Engine) -> None:
    first = [Event("key 1 made", "key made", {"purpose": "data"}), Event("key 2 made", "key made")]
    assert ledger.record_events(first) == 2
    assert ledger.record_events([*first, Event("key 1 retired", "key retired"), *first]) == 1
    assert ledger.record_events(first) == 0
    assert told(engine) == ["key 1 made", "key 2 made", "key 1 retired"]
    ledger.verify_audit()


@pytest.mark.every_database
def test_events_that_differ_in_case_are_two(ledger: Ledger, engine: Engine) -> None:
    assert ledger.record_events([Event("a", "x"), Event("A", "x"), Event("a", "y")]) == 2
    assert told(engine) == ["a", "A"]


def test_more_events_than_one_transaction_takes_are_all_written(ledger: Ledger, engine: Engine) -> None:
    every = [Event(f"event {number}", "job ended") for number in range(events.BATCH * 2 + 1)]
    assert ledger.record_events(iter(every)) == len(every)
    assert told(engine) == [one.event_id for one in every]
    ledger.verify_audit()


@pytest.mark.parametrize("wrong", [{"event_id": ""}, {"event_id": "x" * 191}, {"kind": "a\n"}, {"fields": {"a": 0.5}}])
def test_what_cannot_be_kept_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Event(**{"event_id": "a", "kind": "b", **wrong})


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.none()))
def test_no_field_takes_the_place_of_one_of_the_entrys_own(fields: dict[str, Any]) -> None:
    own = {"kind": "policy", "dataset": "people", "event": "x", "sequence": 1}
    assert Event("a", "b", {**fields, **own}).fields["kind"] == "policy"  # they stand below "fields"


def tell(barrier: Any, url: str, rounds: int) -> list[int]:
    engine = create_engine(url)
    ledger, new = ledger_on(engine), []
    for number in range(rounds):
        barrier.wait()
        new.append(ledger.record_events([Event(f"event {number}.{part}", "x") for part in range(3)]))
    engine.dispose()
    return new


@pytest.mark.every_database
def test_of_processes_that_tell_the_same_each_event_is_written_once(
    ledger: Ledger, engine: Engine, database_url: str
) -> None:
    outcomes = together(tell, [(database_url, 4)] * 3)
    assert [sum(each) for each in zip(*outcomes, strict=True)] == [3] * 4
    assert len(told(engine)) == len(set(told(engine))) == 12
    ledger.verify_audit()
