"""Rows are held against the entries that record them, stretch by stretch."""

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import Engine, select, text

from dp.errors import AuditError
from dp.ledger.answers import Claim
from dp.ledger.ledger import Ledger
from dp.ledger.log.events import Event
from dp.ledger.store.schema import audit
from dp.ledger.verifying import verify
from tests.dp.ledger.sealing import a_request

pytestmark = pytest.mark.databases_in_turn


@pytest.fixture
def used(ledger: Ledger) -> Ledger:
    """1 policy; from there on, ten times: charge, answer, repeat, event."""
    for number in range(10):
        asked = a_request(1000, f"question {number}", request_id=f"r-{number}" if number % 2 else None)
        claim = ledger.charge(asked)
        assert isinstance(claim, Claim)
        ledger.store(claim, b"41.5")
        ledger.charge(asked)
        ledger.record_events([Event(f"event {number}", "job ended")])
    return ledger


@pytest.mark.parametrize("stretch", [1, 2, 3, 7, 41, 4000])
def test_the_length_of_a_stretch_changes_nothing(
    used: Ledger, engine: Engine, monkeypatch: pytest.MonkeyPatch, stretch: int
) -> None:
    monkeypatch.setattr(verify, "NEXT", verify.NEXT.limit(stretch))
    report = used.verify_audit()
    assert (report.head.sequence, report.charges, report.answers) == (41, 10, 10)
    with engine.begin() as connection:
        connection.execute(text("UPDATE noisevault_charge SET nano_rho = 5 WHERE audit_sequence >= 14"))
        connection.execute(text("UPDATE noisevault_answer SET attempt = 5 WHERE audit_sequence >= 11"))
    with pytest.raises(AuditError, match="noisevault_answer that audit entry 11 records was changed"):
        used.verify_audit()


@pytest.mark.parametrize(("entry", "row", "named"), [(30, 10, 10), (10, 30, 10)])
def test_the_first_of_two_faults_is_named_be_it_of_the_log_or_of_a_row(
    used: Ledger, engine: Engine, entry: int, row: int, named: int
) -> None:
    with engine.begin() as connection:
        kinds: Sequence[Any] = connection.scalars(select(audit.c.entry).order_by(audit.c.sequence)).all()
        assert '"kind":"charge"' in kinds[9]
        assert '"kind":"charge"' in kinds[29]
        connection.execute(text(f"UPDATE noisevault_audit SET mac = 'x' WHERE sequence = {entry}"))
        connection.execute(text(f"UPDATE noisevault_charge SET epoch = 9 WHERE audit_sequence = {row}"))
    with pytest.raises(AuditError, match=f"entry {named} "):
        used.verify_audit()
