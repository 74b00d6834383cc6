"""Shared lifetimes counted anew from the log alone, and held against the tables."""

import pytest
from sqlalchemy import Engine, text

from dp.errors import AuditError
from dp.ledger.ledger import Ledger
from tests.dp.ledger.sealing import a_request

pytestmark = pytest.mark.databases_in_turn

EPSILON = 10**9


@pytest.fixture
def used(ledger: Ledger) -> Ledger:
    """Two datasets, one of which left and came back."""
    ledger.declare("others", EPSILON)
    ledger.charge(a_request(5, "before"))
    ledger.share_lifetime("both", EPSILON, ["people", "others"], lifetime_atto_delta=8)
    ledger.charge(a_request(7, dataset="others"))
    ledger.share_lifetime("both", 2 * EPSILON, ["others"], reason="apart")
    ledger.charge(a_request(11, "apart"))
    ledger.share_lifetime("both", 2 * EPSILON, ["people", "others"], reason="together")
    ledger.charge(a_request(13, "together"))
    return ledger


@pytest.mark.every_database
def test_the_log_gives_the_same_sums(used: Ledger) -> None:
    assert used.verify_audit().charges == 4
    assert used.shared_lifetimes("people")[0].status.spent == 5 + 7 + (5 + 11) + 13


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE noisevault_shared_lifetime SET spent_nano_epsilon = 0",
        "UPDATE noisevault_shared_lifetime SET lifetime_nano_epsilon = 1",
        "UPDATE noisevault_shared_lifetime SET name = 'x'",
        "DELETE FROM noisevault_shared_lifetime",
        "DELETE FROM noisevault_shared_member WHERE dataset = 'others'",
        "UPDATE noisevault_shared_member SET dataset = 'x' WHERE dataset = 'others'",
        "INSERT INTO noisevault_shared_member (name, dataset) VALUES ('x', 'people')",
    ],
)
def test_what_was_changed_is_found_and_named(used: Ledger, engine: Engine, statement: str) -> None:
    with engine.begin() as connection:
        connection.execute(text(statement))
    with pytest.raises(AuditError, match=r"shared lifetime '(both|x)', its sums or its members are not what the log"):
        used.verify_audit()
