"""Verification names the first entry that someone with the database, but without the keys, has touched."""

import json
from collections.abc import Callable

import pytest
from sqlalchemy import Connection, Engine, delete, insert, select, text, update

from dp.errors import AuditError, BudgetExhaustedError
from dp.ledger.answers import Claim
from dp.ledger.ledger import Ledger
from dp.ledger.log.audit import AuditHead
from dp.ledger.log.events import Event
from dp.ledger.store.schema import answer, audit, audit_head, budget, charge, event
from tests.dp.ledger.sealing import AuditKeys, a_request, ledger_on

pytestmark = pytest.mark.databases_in_turn


@pytest.fixture
def used(ledger: Ledger) -> Ledger:
    """1 policy, 2 charge, 3 answer, 4 repeat, 5 refusal, 6 charge, 7 unreleased, 8 policy, 9 event."""
    claim = ledger.charge(a_request(request_id="r-1"))
    assert isinstance(claim, Claim)
    ledger.store(claim, b"41.5")
    ledger.charge(a_request())
    with pytest.raises(BudgetExhaustedError):
        ledger.charge(a_request(2 * 10**9, request_id="r-2"))
    second = ledger.charge(a_request(question_text="another"))
    assert isinstance(second, Claim)
    ledger.record_unreleased(second, "OSError")
    ledger.declare("others", 5)
    ledger.record_events([Event("job 1 ended", "job ended", {"rows": 5})])
    return ledger


@pytest.mark.every_database
def test_a_ledger_nobody_touched_is_sound(used: Ledger) -> None:
    report = used.verify_audit()
    assert (report.head.sequence, report.charges, report.answers, report.datasets) == (9, 2, 1, 2)


def test_each_entry_is_told_in_order_once_it_is_known_to_be_signed(used: Ledger, engine: Engine) -> None:
    told: list[str] = []
    used.verify_audit(tell=lambda entry: told.append(entry["kind"]))
    assert told == ["policy", "charge", "answer", "repeat", "refusal", "charge", "unreleased", "policy", "event"]
    with engine.begin() as connection:
        connection.execute(update(audit).where(audit.c.sequence == 3).values(mac="0" * 64))
    with pytest.raises(AuditError):
        used.verify_audit(tell=lambda entry: told.append(entry["kind"]))
    assert told[9:] == ["policy", "charge"][: len(told) - 9], "and none from the wrong one on"


def test_an_empty_ledger_is_sound(engine: Engine) -> None:
    ledger = ledger_on(engine)
    assert ledger.verify_audit().head == AuditHead(0, "")


def _edit(connection: Connection) -> None:
    entry = connection.scalar(select(audit.c.entry).where(audit.c.sequence == 2)) or ""
    changed = entry.replace('"nano_epsilon":100000000', '"nano_epsilon":1')
    assert changed != entry
    connection.execute(update(audit).where(audit.c.sequence == 2).values(entry=changed))


def _swap(connection: Connection) -> None:
    for before, after in ((3, 99), (4, 3), (99, 4)):
        connection.execute(update(audit).where(audit.c.sequence == before).values(sequence=after))


def _remove_and_close_the_gap(connection: Connection) -> None:
    connection.execute(delete(audit).where(audit.c.sequence == 5))
    for number in (6, 7, 8, 9):
        connection.execute(update(audit).where(audit.c.sequence == number).values(sequence=number - 1))
    connection.execute(update(audit_head).values(sequence=8))


def _cut_the_tail_and_move_the_head_without_its_mac(connection: Connection) -> None:
    connection.execute(delete(audit).where(audit.c.sequence > 5))
    connection.execute(update(audit_head).values(sequence=5))


def _add_behind_the_head(connection: Connection) -> None:
    row = connection.execute(select(audit).where(audit.c.sequence == 9)).one()
    connection.execute(insert(audit).values(sequence=10, entry=row.entry, key_id=row.key_id, mac=row.mac))


def _forge_the_key(connection: Connection) -> None:
    connection.execute(update(audit).where(audit.c.sequence == 4).values(key_id="00000002"))


def _sql(statement: str) -> Callable[[Connection], None]:
    def run(connection: Connection) -> None:
        assert connection.execute(text(statement)).rowcount > 0

    return run


TAMPERING: list[tuple[str, Callable[[Connection], None], str]] = [
    ("an edited entry", _edit, "entry 2 was changed"),
    ("an edited MAC", _sql("UPDATE noisevault_audit SET mac = 'é' WHERE sequence = 3"), "entry 3 was changed"),
    ("an entry that is no JSON", _sql("UPDATE noisevault_audit SET entry = '{' WHERE sequence = 3"), "entry 3 was ch"),
    ("two entries swapped", _swap, "entry 3"),
    ("an entry removed", _sql("DELETE FROM noisevault_audit WHERE sequence = 5"), "entry 5 is missing"),
    ("the first removed", _sql("DELETE FROM noisevault_audit WHERE sequence = 1"), "entry 1 is missing"),
    ("an entry removed, the rest renumbered", _remove_and_close_the_gap, "entry 5"),
    ("the tail cut", _sql("DELETE FROM noisevault_audit WHERE sequence > 6"), "entry 7 is missing"),
    ("the whole log gone", _sql("DELETE FROM noisevault_audit"), "entry 1 is missing"),
    ("the tail cut with the head", _cut_the_tail_and_move_the_head_without_its_mac, "entry 5 is not the head"),
    ("an entry repeated at the end", _add_behind_the_head, "entry 10"),
    ("the head back", _sql("UPDATE noisevault_audit_head SET sequence = 8"), "entry 9 is beyond the head"),
    ("the head gone", _sql("DELETE FROM noisevault_audit_head"), "noisevault_audit_head is gone"),
    ("another key named", _forge_the_key, "entry 4 names key '00000002', which is not there"),
    ("a key that is no key", _sql("UPDATE noisevault_audit SET key_id = 'x' WHERE sequence = 4"), "entry 4 names key"),
    (
        "spent set back",
        _sql("UPDATE noisevault_budget SET spent_nano_epsilon = 0"),
        "'people' has spent_nano_epsilon 0",
    ),
    ("rho set back", _sql("UPDATE noisevault_budget SET spent_nano_rho = 0"), "'people' has spent_nano_rho 0"),
    ("the cap raised", _sql("UPDATE noisevault_budget SET lifetime_nano_epsilon = 99"), "lifetime_nano_epsilon 99"),
    ("the epoch moved", _sql("UPDATE noisevault_budget SET epoch = 5"), "has epoch 5, the log gives 1"),
    ("a budget removed", _sql("DELETE FROM noisevault_budget WHERE dataset = 'others'"), "'others' has a budget in"),
    ("a budget renamed", _sql("UPDATE noisevault_budget SET dataset = 'x' WHERE dataset = 'others'"), "'others' has"),
    ("a charge removed", _sql("DELETE FROM noisevault_charge WHERE attempt = 1"), "audit entry 2"),
    ("a charge made cheap", _sql("UPDATE noisevault_charge SET nano_epsilon = 1"), "audit entry 2 records was changed"),
    ("a question replaced", _sql("UPDATE noisevault_charge SET sealed_question = 'x'"), "audit entry 2 records was"),
    ("an attempt renumbered", _sql("UPDATE noisevault_charge SET attempt = 7"), "audit entry 2 records was changed"),
    ("the time of a charge", _sql("UPDATE noisevault_charge SET charged_at = 1"), "audit entry 2 records was changed"),
    (
        "the id of a charge",
        _sql("UPDATE noisevault_charge SET request_id = 'x' WHERE request_id = 'r-1'"),
        "audit entry 2",
    ),
    ("a mark taken away", _sql("UPDATE noisevault_charge SET unreleased_sequence = NULL"), "is marked as unreleased"),
    ("a mark set", _sql("UPDATE noisevault_charge SET unreleased_sequence = 7"), "is marked as unreleased"),
    ("a request removed", _sql("DELETE FROM noisevault_request WHERE outcome = 'charge'"), "audit entry 2"),
    ("a request renamed", _sql("UPDATE noisevault_request SET request_id = 'x' WHERE outcome = 'charge'"), "entry 2"),
    ("a request given away", _sql("UPDATE noisevault_request SET principal = 'eve'"), "entry 2 records was changed"),
    ("a refusal forgotten", _sql("DELETE FROM noisevault_request WHERE outcome = 'refusal'"), "audit entry 5"),
    ("a refusal of another kind", _sql("UPDATE noisevault_request SET reason = 'stale epoch'"), "entry 2"),
    ("an event forgotten", _sql("DELETE FROM noisevault_event"), "audit entry 9"),
    ("an event renamed", _sql("UPDATE noisevault_event SET event_id = 'job 2 ended'"), "audit entry 9"),
    ("an event moved", _sql("UPDATE noisevault_event SET audit_sequence = 99"), "audit entry 9"),
    ("an answer removed", _sql("DELETE FROM noisevault_answer"), "audit entry 3"),
    (
        "an answer replaced",
        _sql("UPDATE noisevault_answer SET sealed_answer = 'x'"),
        "audit entry 3 records was changed",
    ),
    ("an answer moved", _sql("UPDATE noisevault_answer SET epoch = 2"), "audit entry 3 records was changed"),
    ("an answer at another entry", _sql("UPDATE noisevault_answer SET audit_sequence = 4"), "audit entry 3"),
]


@pytest.mark.parametrize(("what", "tamper", "named"), TAMPERING, ids=[what for what, _, _ in TAMPERING])
def test_tampering_is_found_and_named(
    used: Ledger, engine: Engine, what: str, tamper: Callable[[Connection], None], named: str
) -> None:
    with engine.begin() as connection:
        tamper(connection)
    with pytest.raises(AuditError) as failure:
        used.verify_audit()
    assert named in str(failure.value)


@pytest.mark.parametrize(
    ("before", "after"), [('"dataset":"people"', '"dataset":"nobody"'), ('"scopes":[]', '"scopes":[7]')]
)
def test_an_entry_that_was_changed_together_with_its_row_is_named_before_it_is_counted(
    ledger: Ledger, engine: Engine, before: str, after: str
) -> None:
    ledger.charge(a_request())
    with engine.begin() as connection:
        entry = connection.scalar(select(audit.c.entry).where(audit.c.sequence == 2)) or ""
        assert before in entry
        connection.execute(update(audit).where(audit.c.sequence == 2).values(entry=entry.replace(before, after)))
        if "dataset" in after:
            connection.execute(update(charge).values(dataset="nobody"))
    with pytest.raises(AuditError, match="audit entry 2 was changed"):
        ledger.verify_audit()


def test_a_charge_that_was_never_logged_is_found(used: Ledger, engine: Engine) -> None:
    with engine.begin() as connection:
        row = dict(connection.execute(select(charge).where(charge.c.audit_sequence == 2)).mappings().one())
        connection.execute(
            insert(charge).values(
                {**row, "charge_id": "f" * 32, "request_id": None, "attempt": 9, "audit_sequence": 99}
            )
        )
    with pytest.raises(AuditError, match="noisevault_charge holds rows that the log does not know"):
        used.verify_audit()


def test_a_key_that_is_gone_is_named_and_a_rotated_one_is_still_used(used: Ledger, audit_keys: AuditKeys) -> None:
    audit_keys.rotate()
    used.declare("more", 1)
    used.verify_audit()
    audit_keys.lost.add(2)
    with pytest.raises(AuditError, match="entry 10 names key '00000002', which is not there; bring it back"):
        used.verify_audit()


def test_a_database_put_back_to_an_earlier_state_is_found_by_a_checkpoint(used: Ledger, engine: Engine) -> None:
    checkpoint = used.verify_audit().head
    with engine.begin() as connection:  # everything that entries 8 and 9 did, undone without a trace
        connection.execute(delete(audit).where(audit.c.sequence > 7))
        connection.execute(delete(event))
        connection.execute(delete(budget).where(budget.c.dataset == "others"))
        mac = connection.scalar(select(audit.c.mac).where(audit.c.sequence == 7))
        connection.execute(update(audit_head).values(sequence=7, mac=mac))
    assert used.verify_audit().head.sequence == 7
    with pytest.raises(AuditError, match="entry 8 is missing: the checkpoint is entry 9"):
        used.verify_audit(at_least=checkpoint)
    used.declare("yet others", 5)
    used.declare("and yet others", 5)
    with pytest.raises(AuditError, match="entry 9 is not the one of the checkpoint"):
        used.verify_audit(at_least=checkpoint)


def test_a_later_state_passes_an_earlier_checkpoint(used: Ledger) -> None:
    checkpoint = used.verify_audit().head
    used.declare("more", 1)
    assert used.verify_audit(at_least=checkpoint).head.sequence == 10


def test_the_log_alone_gives_the_spent_counters(used: Ledger, engine: Engine) -> None:
    with engine.connect() as connection:
        entries = [json.loads(entry) for entry in connection.scalars(select(audit.c.entry))]
        assert connection.execute(select(answer)).all()
    spent = sum(entry["nano_epsilon"] for entry in entries if entry["kind"] == "charge")
    assert spent == used.status("people").spent == 200_000_000


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "change", ["entry = x'00ff'", "mac = x'ff'", "mac = 5", "entry = 7.5", "key_id = 5", "key_id = x'ff'"]
)
def test_what_sqlite_lets_anyone_put_in_place_of_text_is_a_changed_entry_too(
    used: Ledger, engine: Engine, change: str
) -> None:
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE noisevault_audit SET {change} WHERE sequence = 3"))
    with pytest.raises(AuditError, match="entry 3 "):
        used.verify_audit()


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "change",
    [
        "audit_head SET sequence = 'x'",
        "audit_head SET sequence = x'ff'",
        "budget SET dataset = x'ff'",
        "budget SET dataset = CAST(x'ff' AS TEXT)",
        "charge SET principal = CAST(x'ff' AS TEXT)",
        "audit SET sequence = CAST(x'ff' AS TEXT)",
    ],
)
def test_what_sqlite_lets_anyone_put_into_a_counter_or_a_name_is_found(
    used: Ledger, engine: Engine, change: str
) -> None:
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE noisevault_{change} WHERE rowid = 1"))
    with pytest.raises(AuditError):
        used.verify_audit()


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("column", ["entry", "key_id", "mac"])
def test_text_that_the_driver_cannot_read_is_a_changed_entry_and_no_outage(
    used: Ledger, engine: Engine, column: str
) -> None:
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE noisevault_audit SET {column} = CAST(x'ff' AS TEXT) WHERE sequence IN (4, 6)"))
    with pytest.raises(AuditError, match="entry 4 was changed"):
        used.verify_audit()
    with engine.begin() as connection:
        connection.execute(text("UPDATE noisevault_audit SET mac = 'zz' WHERE sequence = 2"))
    with pytest.raises(AuditError, match="entry 2 was changed"):
        used.verify_audit()
