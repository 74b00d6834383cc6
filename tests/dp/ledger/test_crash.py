"""A process is killed between every two steps of a question: no answer without a charge, and none twice."""

import pytest
from sqlalchemy import Engine, select

from dp.answer import Answer
from dp.ask import ask
from dp.caps import Caps
from dp.errors import NotReleasedError
from dp.ledger.ledger import Ledger
from dp.ledger.store.schema import answer, charge
from dp.questions.count import Count
from tests.dp.ledger.charging import STEPS, killed_while, three_units
from tests.dp.ledger.sealing import a_request

pytestmark = pytest.mark.databases_in_turn

PRICE = 100_000_000
CHARGED = STEPS[STEPS.index("charged") :]


def counts(ledger: Ledger, engine: Engine) -> tuple[int, int]:
    """Charges and answers, as the log and the tables have them; what was spent is what was charged."""
    report = ledger.verify_audit()
    with engine.connect() as connection:
        charges = connection.execute(select(charge)).all()
        answers = connection.execute(select(answer)).all()
    assert {row.charge_id for row in answers} <= {row.charge_id for row in charges}
    assert (report.charges, report.answers) == (len(charges), len(answers))
    assert ledger.status("people").spent == len(charges) * PRICE
    return report.charges, report.answers


@pytest.mark.parametrize("where", STEPS)
@pytest.mark.every_database
def test_k24_01_after_kill_9_the_charge_stays_and_nothing_was_shown(
    ledger: Ledger, engine: Engine, database_url: str, where: str
) -> None:
    """(a) after the charge, before the answer; (b) after computing, before and during the store's transaction."""
    assert killed_while(database_url, where) == []
    charged, stored = int(where in CHARGED), int(where == "stored")
    assert counts(ledger, engine) == (charged, stored)

    shown = ask(ledger, a_request(), Count(Caps(1)), three_units, salt=b"salt")

    assert isinstance(shown, Answer)
    assert counts(ledger, engine) == (charged + 1 - stored, 1)


@pytest.mark.parametrize("where", STEPS)
def test_k24_01_after_kill_9_the_recovery_marks_what_was_charged_and_the_same_request_is_not_charged_again(
    ledger: Ledger, engine: Engine, database_url: str, where: str
) -> None:
    assert killed_while(database_url, where, "r-1") == []
    charged, stored = int(where in CHARGED), int(where == "stored")
    assert ledger.recover(0) == charged - stored
    assert ledger.recover(0) == 0
    again = a_request(request_id="r-1")
    if charged and not stored:
        with pytest.raises(NotReleasedError, match="charged, not released"):
            ask(ledger, again, Count(Caps(1)), three_units, salt=b"salt")
        assert counts(ledger, engine) == (1, 0)
    else:
        ask(ledger, again, Count(Caps(1)), three_units, salt=b"salt")
        assert counts(ledger, engine) == (1, 1)
