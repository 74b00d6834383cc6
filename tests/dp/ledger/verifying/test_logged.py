from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, update

from dp.errors import AuditError, BudgetExhaustedError
from dp.ledger.ledger import Ledger
from dp.ledger.store.schema import audit, charge
from tests.dp.ledger.sealing import AesSealer, a_request, ledger_on

pytestmark = pytest.mark.databases_in_turn


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    times = iter(range(1, 1000))
    engine = create_engine(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger = ledger_on(engine, now=lambda: next(times))
    ledger.create_schema()
    ledger.declare("people", 10**9)
    yield ledger
    engine.dispose()


def test_entries_come_in_order_with_the_texts_of_what_was_charged(ledger: Ledger) -> None:
    claim = ledger.charge(a_request(10**8, "COUNT(*)"))
    ledger.store(claim, b"42")  # type: ignore[arg-type]
    ledger.charge(a_request(10**8, "COUNT(*)", principal="bob"))
    with pytest.raises(BudgetExhaustedError):
        ledger.charge(a_request(10**9, "SUM(x)"))
    seen = list(ledger.logged())
    assert [one.kind for one in seen] == ["policy", "charge", "answer", "charge", "refusal"]
    assert [one.question for one in seen] == ["", "COUNT(*)", "", "COUNT(*)", ""]
    assert [one.sequence for one in seen] == list(range(1, 6))
    assert [one.fields["principal"] for one in seen[1:]] == ["ann", "ann", "bob", "ann"]
    assert [one.at for one in seen] == sorted({one.at for one in seen})


def test_texts_from_before_are_not_opened(ledger: Ledger) -> None:
    for number in range(3):
        ledger.charge(a_request(10**8, f"question {number}"))
    at = [one.at for one in ledger.logged()]
    assert [one.question for one in ledger.logged(since=at[2])] == ["", "", "question 1", "question 2"]
    ledger._sealer = AesSealer(bytes(32))
    assert [one.question for one in ledger.logged()] == [""] * 4, "under another key none opens, and the rest is told"


def test_a_text_that_was_exchanged_is_not_told(ledger: Ledger, tmp_path: Path) -> None:
    for number in range(2):
        ledger.charge(a_request(10**8, f"question {number}"))
    with ledger._engine.begin() as connection:
        sealed = connection.execute(charge.select().where(charge.c.audit_sequence == 2)).one().sealed_question
        connection.execute(update(charge).where(charge.c.audit_sequence == 3).values(sealed_question=sealed))
    assert [one.question for one in ledger.logged()] == ["", "question 0", ""]


@pytest.mark.parametrize("entry", ["", "zz", "[]", "[" * 100_000, '{"at":"x"}'])
def test_what_is_no_entry_is_named(ledger: Ledger, entry: str) -> None:
    ledger.charge(a_request(10**8))
    with ledger._engine.begin() as connection:
        connection.execute(update(audit).where(audit.c.sequence == 2).values(entry=entry))
    with pytest.raises(AuditError, match="audit entry 2 was changed"):
        list(ledger.logged())
