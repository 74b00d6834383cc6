"""The audit log: numbered entries, each signed with the one before."""

import hmac
import json

import pytest
from sqlalchemy import Engine, select, text

from dp.errors import AuditError, BudgetExhaustedError, UnknownDatasetError
from dp.ledger.answers import Claim
from dp.ledger.ledger import Ledger
from dp.ledger.log.audit import AuditHead, AuditLog
from dp.ledger.store.schema import audit, audit_head
from dp.ledger.store.transaction import Transactions
from tests.dp.ledger.sealing import AuditKeys, HmacKey, a_request, ledger_on

pytestmark = pytest.mark.databases_in_turn


def test_every_kind_of_event_is_an_entry_and_each_follows_the_last(
    ledger: Ledger, engine: Engine, audit_keys: AuditKeys
) -> None:
    claim = ledger.charge(a_request())
    assert isinstance(claim, Claim)
    ledger.store(claim, b"41.5")
    ledger.charge(a_request())
    with pytest.raises(BudgetExhaustedError):
        ledger.charge(a_request(2 * 10**9))
    audit_keys.rotate()
    ledger.advance_epoch("people", "new data")
    with engine.connect() as connection:
        rows = connection.execute(select(audit).order_by(audit.c.sequence)).all()
        head = connection.execute(select(audit_head)).one()
    entries = [json.loads(row.entry) for row in rows]
    assert [entry["kind"] for entry in entries] == ["policy", "charge", "answer", "repeat", "refusal", "epoch"]
    assert [entry["sequence"] for entry in entries] == [row.sequence for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [entry["previous"] for entry in entries] == ["", *(row.mac for row in rows[:-1])]
    assert [row.key_id for row in rows] == ["00000001"] * 5 + ["00000002"]
    assert [entry["key"] for entry in entries] == [row.key_id for row in rows]
    assert (head.sequence, head.mac) == (6, rows[-1].mac)
    for row in rows:
        key = audit_keys.by_id(bytes.fromhex(row.key_id))
        assert hmac.compare_digest(key.compute(row.entry.encode()).hex(), row.mac)


def test_no_entry_holds_a_float_a_question_or_an_answer(ledger: Ledger, engine: Engine) -> None:
    claim = ledger.charge(a_request(question_text="AVG(salary)"))
    assert isinstance(claim, Claim)
    ledger.store(claim, b"31415.926535")
    with engine.connect() as connection:
        for entry in connection.scalars(select(audit.c.entry)):
            json.loads(entry, parse_float=lambda _: pytest.fail("a float"))
            assert "salary" not in entry
            assert "31415" not in entry


def test_the_time_of_an_entry_is_what_the_clock_said(engine: Engine) -> None:
    ledger = ledger_on(engine, now=lambda: 1_700_000_000_000_001)
    ledger.declare("people", 1)
    with engine.connect() as connection:
        assert json.loads(connection.scalars(select(audit.c.entry)).one())["at"] == 1_700_000_000_000_001


@pytest.mark.every_database
def test_appending_moves_the_head(ledger: Ledger, engine: Engine, audit_keys: AuditKeys) -> None:
    log = AuditLog(audit_keys, lambda: 0)

    def append_two(connection: object, unsure: bool) -> list[AuditHead]:
        head = log.lock(connection)  # type: ignore[arg-type]
        second = log.append(connection, head, "policy", dataset="a")  # type: ignore[arg-type]
        third = log.append(connection, second, "policy", dataset="b")  # type: ignore[arg-type]
        return [second, third, log.lock(connection)]  # type: ignore[arg-type]

    second, third, locked = Transactions(engine).run(append_two)
    assert (second.sequence, third.sequence) == (2, 3)
    assert locked == third


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "change",
    ["SET sequence = 'x'", "SET sequence = 1.5", "SET mac = x'ff'", "SET mac = x'ff', sequence = 9", "SET id = 2"],
)
@pytest.mark.every_database
def test_nothing_is_charged_behind_a_head_that_is_none(ledger: Ledger, engine: Engine, change: str) -> None:
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE noisevault_audit_head {change}"))
    with pytest.raises(AuditError, match="noisevault_audit_head"):
        ledger.charge(a_request())
    assert ledger.status("people").spent == 0


def test_a_log_that_others_sign_is_not_written_to(ledger: Ledger, engine: Engine, audit_keys: AuditKeys) -> None:
    class Others(AuditKeys):
        def by_id(self, key_id: bytes) -> HmacKey:
            raise LookupError

    strangers = ledger_on(engine, audit=Others())
    for write in (
        lambda: strangers.declare("others", 1),
        lambda: strangers.charge(a_request()),
        lambda: strangers.advance_epoch("people", "new data"),
    ):
        with pytest.raises(AuditError, match="'00000001', which is not there"):
            write()
    assert ledger.verify_audit().head.sequence == 1
    audit_keys.rotate()
    assert ledger_on(engine, audit=audit_keys).declare("others", 1)


def test_whose_log_it_is_is_looked_at_until_there_is_an_entry(engine: Engine) -> None:
    class Ours(AuditKeys):
        def by_id(self, key_id: bytes) -> HmacKey:
            return super().by_id(key_id) if self.newest_number == int.from_bytes(key_id, "big") else self._lost()

        def _lost(self) -> HmacKey:
            raise LookupError

    first, second = ledger_on(engine, audit=Ours(1)), ledger_on(engine, audit=Ours(2))
    for ledger in (first, second):
        with pytest.raises(UnknownDatasetError):
            ledger.advance_epoch("people", "new data")  # nothing is written
    first.declare("people", 1)
    with pytest.raises(AuditError):
        second.declare("others", 1)
    assert first.verify_audit().head.sequence == 1
