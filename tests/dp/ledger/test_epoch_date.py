import pytest
from sqlalchemy import Engine

from dp.errors import UnknownDatasetError
from tests.dp.ledger.sealing import AuditKeys, ledger_on

pytestmark = pytest.mark.databases_in_turn

START = 1_700_000_000_000_000
HOUR = 3_600_000_000


def test_an_epoch_is_as_old_as_its_last_advance_or_else_as_the_first_declaration(
    engine: Engine, audit_keys: AuditKeys
) -> None:
    now = [START]
    ledger = ledger_on(engine, audit=audit_keys, now=lambda: now[0])
    ledger.declare("people", 10**9)
    ledger.declare("others", 10**9)
    now[0] += HOUR
    ledger.declare("people", 2 * 10**9, reason="a test", accept=True)
    assert ledger.epoch_since("people") == START
    ledger.advance_epoch("others", 'not "kind":"epoch" of "dataset":"people"')
    now[0] += HOUR
    ledger.advance_epoch("people", "load of May")
    now[0] += HOUR
    ledger.advance_epoch("people", "load of June")
    now[0] += HOUR
    ledger.declare("people", 10**9, reason="a test")
    assert (ledger.epoch_since("people"), ledger.epoch_since("others")) == (START + 3 * HOUR, START + HOUR)


def test_a_dataset_nobody_declared_is_named(engine: Engine, audit_keys: AuditKeys) -> None:
    ledger = ledger_on(engine, audit=audit_keys)
    with pytest.raises(UnknownDatasetError, match="'nobody'"):
        ledger.epoch_since("nobody")
