"""A process is killed in the middle of a question."""

import pytest
from sqlalchemy import Engine, select

from dp.answer import Answer
from dp.ask import ask
from dp.bounding import Caps
from dp.ledger.ledger import Ledger
from dp.ledger.schema import answer, charge
from dp.questions.count import Count
from tests.dp.ledger.charging import killed_while, three_units
from tests.dp.ledger.sealing import a_request


@pytest.mark.parametrize("where", ["charged", "computed", "storing"])
def test_k24_01_after_kill_9_the_charge_stays_and_nothing_was_shown(
    ledger: Ledger, engine: Engine, database_url: str, where: str
) -> None:
    """(a) after the charge, before the answer; (b) after computing, before and during the store's transaction."""
    assert killed_while(database_url, where) == []
    assert ledger.status("people").spent == 100_000_000
    with engine.connect() as connection:
        assert connection.execute(select(answer)).all() == []
    report = ledger.verify_audit()
    assert (report.charges, report.answers) == (1, 0)

    shown = ask(ledger, a_request(), Count(Caps(1)), three_units, salt=b"salt")

    assert isinstance(shown, Answer)
    assert ledger.status("people").spent == 200_000_000
    with engine.connect() as connection:
        assert sorted(connection.scalars(select(charge.c.attempt))) == [1, 2]
        assert connection.scalars(select(answer.c.attempt)).all() == [2]
    report = ledger.verify_audit()
    assert (report.charges, report.answers) == (2, 1)
