"""Entries and their rows, read in one pass: any difference shows, and nothing else does."""

import json
from typing import Any

import pytest
from sqlalchemy import Engine, select, text

from dp.ledger.answers import Claim
from dp.ledger.ledger import Ledger
from dp.ledger.log.events import Event
from dp.ledger.store.schema import audit
from dp.ledger.verifying.recount import with_unsaid
from dp.ledger.verifying.side_by_side import SideBySide
from tests.dp.ledger.sealing import a_request

pytestmark = pytest.mark.databases_in_turn


@pytest.fixture
def used(ledger: Ledger) -> Ledger:
    """1 policy; 2 charge with a request, 3 answer; 4 charge, 5 answer; 6 event."""
    for number, request_id in enumerate(("r-1", None)):
        claim = ledger.charge(a_request(1000, f"question {number}", request_id=request_id))
        assert isinstance(claim, Claim)
        ledger.store(claim, b"41.5")
    ledger.record_events([Event("job 1 ended", "job ended")])
    return ledger


def counts(engine: Engine, first: int, last: int) -> dict[str, int] | None:
    with engine.connect() as connection:
        texts = connection.scalars(
            select(audit.c.entry).where(audit.c.sequence.between(first, last)).order_by(audit.c.sequence)
        )
        entries: list[dict[str, Any]] = [with_unsaid(json.loads(each)) for each in texts]
        beside = SideBySide(connection, first, last)
        for entry in entries:
            beside.take(entry)
        return beside.counts()


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [(1, 6, (2, 2, 1, 1)), (1, 2, (1, 0, 1, 0)), (3, 4, (1, 1, 0, 0)), (6, 6, (0, 0, 0, 1))],
)
def test_rows_that_are_as_their_entries_say_are_counted(
    used: Ledger, engine: Engine, first: int, last: int, expected: tuple[int, ...]
) -> None:
    names = [f"noisevault_{name}" for name in ("charge", "answer", "request", "event")]
    assert counts(engine, first, last) == dict(zip(names, expected, strict=True))


CHANGES = [
    f"UPDATE noisevault_charge SET {change} WHERE audit_sequence = 2"
    for change in (
        "visibility = 'x'",
        "dataset = 'x'",
        "epoch = 7",
        "question_mac = 'x'",
        "attempt = 7",
        "principal = 'x'",
        "request_id = NULL",
        "nano_epsilon = 7",
        "nano_rho = 7",
        "atto_delta = 7",
        "unbounded = 7",
        "charge_id = 'x'",
        "charged_at = 7",
        "sealed_question = ''",
        "audit_sequence = 3",
        "audit_sequence = 99",
    )
] + [
    "DELETE FROM noisevault_charge WHERE audit_sequence = 4",
    *(
        f"UPDATE noisevault_answer SET {change} WHERE audit_sequence = 3"
        for change in ("epoch = 7", "attempt = 7", "charge_id = 'x'", "sealed_answer = ''", "audit_sequence = 6")
    ),
    "DELETE FROM noisevault_answer WHERE audit_sequence = 5",
    *(
        f"UPDATE noisevault_request SET {change} WHERE audit_sequence = 2"
        for change in (
            "epoch = 7",
            "principal = 'x'",
            "request_id = 'x'",
            "outcome = 'repeat'",
            "charge_id = NULL",
            "reason = 'x'",
            "audit_sequence = 4",
        )
    ),
    "DELETE FROM noisevault_request",
    "UPDATE noisevault_event SET event_id = 'x'",
    "UPDATE noisevault_event SET audit_sequence = 5",
    "DELETE FROM noisevault_event",
    "INSERT INTO noisevault_event (event_id, audit_sequence) VALUES ('another', 1)",
]


@pytest.mark.parametrize("change", CHANGES)
def test_each_column_that_is_another_shows(used: Ledger, engine: Engine, change: str) -> None:
    with engine.begin() as connection:
        assert connection.execute(text(change)).rowcount == 1
    assert counts(engine, 1, 6) is None


def test_a_row_that_is_left_over_shows(used: Ledger, engine: Engine) -> None:
    assert counts(engine, 1, 5) is not None
    with engine.begin() as connection:
        connection.execute(text("UPDATE noisevault_event SET audit_sequence = 5"))
    assert counts(engine, 1, 5) is None


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_text_that_the_driver_cannot_read_is_no_outage(used: Ledger, engine: Engine) -> None:
    for table, number in (("charge", 4), ("charge", 2), ("request", 2)):
        with engine.begin() as connection:
            connection.execute(
                text(f"UPDATE noisevault_{table} SET principal = CAST(x'ff' AS TEXT) WHERE audit_sequence = {number}")
            )
        assert counts(engine, 1, 6) is None
