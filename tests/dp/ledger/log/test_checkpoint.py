"""Checkpoint: the log goes on from the head that was kept, or that is told."""

import pytest
from sqlalchemy import Engine, delete, text, update

from dp.errors import AuditError
from dp.ledger.ledger import Ledger
from dp.ledger.log.audit import AuditHead
from dp.ledger.store.schema import audit, audit_head

pytestmark = pytest.mark.databases_in_turn


def test_the_head_is_the_last_entry_and_goes_on_from_each_one_before(ledger: Ledger) -> None:
    first = ledger.head()
    assert first == ledger.verify_audit().head
    ledger.declare("others", 5)
    assert ledger.head(first).sequence == first.sequence + 1
    assert ledger.head(AuditHead(0, "")) == ledger.head()


def test_a_ledger_that_was_put_back_is_told(ledger: Ledger, engine: Engine) -> None:
    before = ledger.head()
    ledger.declare("others", 5)
    kept = ledger.head()
    with engine.begin() as connection:
        connection.execute(delete(audit).where(audit.c.sequence == kept.sequence))
        connection.execute(update(audit_head).values(sequence=before.sequence, mac=before.mac))
    with pytest.raises(AuditError, match="was put back"):
        ledger.head(kept)


def test_a_log_that_was_written_anew_is_told(ledger: Ledger) -> None:
    head = ledger.head()
    with pytest.raises(AuditError, match="was rewritten"):
        ledger.head(AuditHead(head.sequence, "00" * 32))


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("change", ["sequence = 'x'", "sequence = x'ff'", "mac = x'ff'"])
def test_a_head_that_is_none_is_told(ledger: Ledger, engine: Engine, change: str) -> None:
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE noisevault_audit_head SET {change}"))
    with pytest.raises(AuditError, match="was changed"):
        ledger.head(AuditHead(1, "00" * 32))


def test_a_head_that_is_gone_is_told(ledger: Ledger, engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(delete(audit_head))
    with pytest.raises(AuditError, match="is gone"):
        ledger.head()
