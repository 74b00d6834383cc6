"""Recovery: what was charged and never answered is marked, and then no answer comes any more."""

import threading
from typing import Any

import pytest
from sqlalchemy import Engine, select

from dp.ask import ask
from dp.caps import Caps
from dp.errors import NotReleasedError, ParameterError
from dp.ledger.answers import Claim
from dp.ledger.ledger import Ledger
from dp.ledger.log import recovery
from dp.ledger.store.schema import answer, audit, charge
from dp.questions.count import Count
from tests.dp.ledger.charging import three_units, together
from tests.dp.ledger.sealing import AuditKeys, a_request, ledger_on

pytestmark = pytest.mark.databases_in_turn

SECOND = 1_000_000


def claimed(ledger: Ledger, **others: Any) -> Claim:
    claim = ledger.charge(a_request(1000, **others))
    assert isinstance(claim, Claim)
    return claim


def kinds(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        found = connection.scalars(select(audit.c.entry).order_by(audit.c.sequence))
        return [entry.partition('"kind":"')[2].partition('"')[0] for entry in found]


@pytest.mark.every_database
def test_old_charges_without_an_answer_are_marked_and_no_others(
    ledger: Ledger, engine: Engine, audit_keys: AuditKeys
) -> None:
    at = [1000 * SECOND]
    ledger = ledger_on(engine, audit=audit_keys, now=lambda: at[0])
    old, answered, failed = (claimed(ledger, question_text=text) for text in ("old", "answered", "failed"))
    ledger.store(answered, b"41.5")
    ledger.record_unreleased(failed, "OSError")
    at[0] += 60 * SECOND
    young = claimed(ledger, question_text="young")
    assert ledger.recover(61) == 0
    assert ledger.recover(60) == 1
    assert ledger.recover(60) == 0
    with engine.connect() as connection:
        unmarked = select(charge.c.charge_id).where(charge.c.unreleased_sequence.is_(None))
        assert set(connection.scalars(unmarked)) == {answered.charge_id, young.charge_id}
        last = connection.scalars(select(audit.c.entry).order_by(audit.c.sequence.desc())).first() or ""
    assert f'"cause":"recovery","charge":"{old.charge_id}"' in last
    assert ledger.recover(0) == 1
    ledger.verify_audit()


@pytest.mark.parametrize("older_than", [-1, float("inf"), float("nan")])
def test_an_age_is_a_number_of_seconds(ledger: Ledger, older_than: float) -> None:
    with pytest.raises(ParameterError, match="older_than"):
        ledger.recover(older_than)


def test_more_charges_than_one_transaction_takes_are_all_marked(
    ledger: Ledger, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "PENDING", recovery.PENDING.limit(3))
    for number in range(7):
        claimed(ledger, question_text=f"question {number}")
    assert ledger.recover(0) == 7
    assert kinds(engine).count("unreleased") == 7
    ledger.verify_audit()


def test_what_is_marked_is_not_answered_when_the_slow_process_comes_back(ledger: Ledger, engine: Engine) -> None:
    def read() -> Any:
        assert ledger_on(engine).recover(0) == 1
        return three_units()

    with pytest.raises(NotReleasedError, match="charged, not released"):
        ask(ledger, a_request(), Count(Caps(1)), read, salt=b"salt")
    with engine.connect() as connection:
        assert connection.execute(select(answer)).all() == []
    assert kinds(engine) == ["policy", "charge", "unreleased"]
    ledger.verify_audit()


def test_what_is_answered_is_not_marked(ledger: Ledger, engine: Engine) -> None:
    claim = claimed(ledger)
    ledger.store(claim, b"41.5")
    ledger.record_unreleased(claim, "OSError")  # as where the answer to the store's COMMIT was lost
    assert ledger.recover(0) == 0
    assert kinds(engine) == ["policy", "charge", "answer"]
    assert ledger.charge(a_request(1000)) == b"41.5"
    ledger.verify_audit()


def test_marking_twice_is_marking_once(ledger: Ledger, engine: Engine) -> None:
    claim = claimed(ledger)
    ledger.record_unreleased(claim, "OSError")
    ledger.record_unreleased(claim, "ValueError")
    assert kinds(engine) == ["policy", "charge", "unreleased"]
    with pytest.raises(NotReleasedError):
        ledger.store(claim, b"41.5")
    ledger.verify_audit()


def test_a_charge_that_was_given_the_answer_of_another_is_not_pending(ledger: Ledger, engine: Engine) -> None:
    first, second = claimed(ledger), claimed(ledger)
    ledger.store(second, b"of the second")
    assert ledger.store(first, b"of the first") == b"of the second"
    assert ledger.recover(0) == 0
    assert kinds(engine) == ["policy", "charge", "charge", "answer", "repeat"]
    ledger.verify_audit()


def test_no_answer_is_stored_without_its_charge(ledger: Ledger, engine: Engine) -> None:
    """As where the ledger was put back to an earlier state while a process computed."""
    claim = claimed(ledger)
    for wrong in (Claim("0" * 32, claim.place, 1, "ann"), Claim(claim.charge_id, claim.place, 2, "ann")):
        with pytest.raises(NotReleasedError):
            ledger.store(wrong, b"41.5")
    with engine.connect() as connection:
        assert connection.execute(select(answer)).all() == []
    assert ledger.store(claim, b"41.5") == b"41.5"


def store_or_mark(barrier: Any, url: str, marks: bool, claims: list[Claim]) -> list[str]:
    """One process stores the answer of each claim while another recovers."""
    from sqlalchemy import create_engine

    engine = create_engine(url)
    ledger, told = ledger_on(engine), []
    for number, claim in enumerate(claims):
        barrier.wait()
        if marks:
            told.append(str(ledger.recover(0)))
        else:
            threading.Event().wait(number % 5 * 0.001)
            try:
                told.append(ledger.store(claim, b"answer").decode())
            except NotReleasedError:
                told.append("not released")
    engine.dispose()
    return told


@pytest.mark.every_database
def test_a_race_between_the_slow_process_and_the_recovery_has_one_winner(
    ledger: Ledger, engine: Engine, database_url: str
) -> None:
    rounds = 20
    claims = [claimed(ledger, question_text=f"question {n}") for n in range(rounds)]
    (stored, _) = together(store_or_mark, [(database_url, False, claims), (database_url, True, claims)])
    with engine.connect() as connection:
        marked = set(connection.scalars(select(charge.c.charge_id).where(charge.c.unreleased_sequence.is_not(None))))
        answered = set(connection.scalars(select(answer.c.charge_id)))
    assert not marked & answered
    assert len(marked | answered) == rounds
    shown = {claim.charge_id for claim, told in zip(claims, stored, strict=True) if told == "answer"}
    assert shown == answered
    ledger.verify_audit()
