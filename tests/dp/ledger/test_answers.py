"""Stored answers: the first stays, sealed to its place."""

from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, select, text, update

from dp.errors import LedgerError
from dp.ledger.answers import Claim
from dp.ledger.errors import StoredAnswerError
from dp.ledger.ledger import Ledger
from dp.ledger.store.schema import answer, audit, charge
from tests.dp.ledger.sealing import a_request, ledger_on

pytestmark = pytest.mark.databases_in_turn

SECRETS = [b"AVG(salary) WHERE illness", b"salary", b"illness", b"31415926535", b"secret label", b"secret parameter"]


def _claim(ledger: Ledger, **others: object) -> Claim:
    claim = ledger.charge(a_request(**others))  # type: ignore[arg-type]
    assert isinstance(claim, Claim)
    return claim


@pytest.mark.every_database
def test_the_first_stored_answer_wins_and_everybody_gets_it(ledger: Ledger) -> None:
    first, second = _claim(ledger), _claim(ledger)
    assert ledger.store(second, b"of the second") == b"of the second"
    assert ledger.store(first, b"of the first") == b"of the second"
    assert ledger.charge(a_request()) == b"of the second"
    report = ledger.verify_audit()
    assert (report.charges, report.answers) == (2, 1)


def test_storing_again_gives_what_was_stored(ledger: Ledger) -> None:
    claim = _claim(ledger)
    assert ledger.store(claim, b"once") == b"once"
    assert ledger.store(claim, b"twice") == b"once"


def test_answers_and_questions_cannot_be_read_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    engine = create_engine(f"sqlite:///{path}")
    ledger = ledger_on(engine)
    ledger.create_schema()
    ledger.declare("people", 10**9)
    secret = a_request(
        question_text="AVG(salary) WHERE illness", group_labels=("secret label",), parameters="secret parameter"
    )
    claim = ledger.charge(secret)
    assert isinstance(claim, Claim)
    ledger.store(claim, b"31415926535")
    assert ledger.charge(secret) == b"31415926535"

    def written() -> bytes:
        return b"".join(file.read_bytes() for file in tmp_path.iterdir())

    assert b"people" in written()  # the search would find it
    assert not [each for each in SECRETS if each in written()]
    engine.dispose()  # the write-ahead log is moved into the file
    assert not [each for each in SECRETS if each in written()]


@pytest.mark.parametrize("column", ["question_mac", "epoch", "dataset", "visibility", "attempt"])
def test_an_answer_that_was_moved_is_not_given(ledger: Ledger, engine: Engine, column: str) -> None:
    """Someone who writes to the database gives one question the answer of another."""
    ledger.declare("others", 10**9)
    ledger.store(_claim(ledger), b"41.5")
    other = {
        "question_mac": {"question_text": "another"},
        "epoch": {"epoch": 2},
        "dataset": {"dataset": "others"},
        "visibility": {"principal": "bob"},
        "attempt": {},
    }[column]
    if column == "epoch":
        ledger.advance_epoch("people", "new data")
    if column == "attempt":
        wanted: dict[str, object] = {"attempt": 2}
    else:
        claim = _claim(ledger, **other)
        wanted = claim.place.fields()  # type: ignore[assignment]
    with engine.begin() as connection:
        connection.execute(update(answer).values(**wanted))
    with pytest.raises(StoredAnswerError, match="does not authenticate; have an operator verify") as failure:
        ledger.charge(a_request(**other))  # type: ignore[arg-type]
    assert failure.value.__context__ is None


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("attempt", ["x'01'", "1.5", "'x'"])
def test_an_attempt_that_is_no_number_is_not_given(ledger: Ledger, engine: Engine, attempt: str) -> None:
    ledger.store(_claim(ledger), b"41.5")
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE noisevault_answer SET attempt = {attempt}"))
    with pytest.raises(StoredAnswerError):
        ledger.charge(a_request())


def test_an_answer_that_was_changed_is_not_given(ledger: Ledger, engine: Engine) -> None:
    ledger.store(_claim(ledger), b"41.5")
    with engine.begin() as connection:
        connection.execute(update(answer).values(sealed_answer=b"x" * 40))
    with pytest.raises(StoredAnswerError):
        ledger.charge(a_request())


def test_a_stored_question_opens_for_its_own_charge_alone(ledger: Ledger, engine: Engine) -> None:
    claim, other = _claim(ledger), _claim(ledger, question_text="another")
    with engine.connect() as connection:
        sealed = connection.scalar(select(charge.c.sealed_question).where(charge.c.charge_id == claim.charge_id))
    sealer = ledger._sealer
    assert sealer.open(bytes(sealed), claim.place.question_aad(claim.charge_id)) == b"COUNT(*)"
    with pytest.raises(Exception, match=r"^$"):
        sealer.open(bytes(sealed), other.place.question_aad(other.charge_id))


def test_a_charge_without_an_answer_is_on_record_with_the_kind_of_its_cause(ledger: Ledger, engine: Engine) -> None:
    ledger.record_unreleased(_claim(ledger), "OperationalError")
    with engine.connect() as connection:
        last = connection.scalars(select(audit.c.entry).order_by(audit.c.sequence)).all()[-1]
    assert '"cause":"OperationalError"' in last
    assert '"kind":"unreleased"' in last
    assert ledger.status("people").spent == 100_000_000
    ledger.verify_audit()


def test_the_errors_of_a_ledger_are_ledger_errors() -> None:
    assert issubclass(StoredAnswerError, LedgerError)
