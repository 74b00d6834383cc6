import pytest
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import DBAPIError

from dp.errors import AuditError
from dp.ledger.ledger import Ledger
from dp.ledger.limits.budgets import Budgets, Scope
from dp.ledger.store.unreadable import unreadable
from tests.dp.ledger.sealing import a_request


def failure(statement: str) -> DBAPIError:
    engine = create_engine("sqlite://")
    try:
        with engine.connect() as connection:
            connection.execute(text(statement)).all()
    except DBAPIError as error:
        return error
    finally:
        engine.dispose()
    raise AssertionError("it did not fail")


def test_bytes_that_are_no_text_are_told_by_their_column_and_not_quoted() -> None:
    told = str(unreadable(failure("SELECT CAST(x'736563726574ff' AS TEXT) AS mac")))
    assert "column 'mac' " in told
    assert "secret" not in told


def test_every_other_error_is_another() -> None:
    assert unreadable(failure("SELECT 1 FROM nowhere")) is None


@pytest.mark.parametrize(
    ("database_url", "change"),
    [
        ("sqlite", "scope SET span = 'zz'"),
        ("sqlite", "scope SET bucket = 'zz'"),
        ("sqlite", "scope SET cap_nano_epsilon = x'ff'"),
        ("sqlite", "scope SET spent_nano_epsilon = ''"),
        ("sqlite", "shared_lifetime SET spent_nano_epsilon = 'zz'"),
        pytest.param("postgres", "scope SET span = 'zz'", marks=pytest.mark.postgres),
    ],
    indirect=["database_url"],
)
def test_a_budget_that_is_no_number_refuses_each_charge_and_says_what_to_do(
    ledger: Ledger, engine: Engine, change: str
) -> None:
    ledger.declare("people", Budgets(10**9, scopes=(Scope("dataset", "", "day", 10**9),)), reason="a window")
    ledger.share_lifetime("all", 10**9, ["people"])
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE noisevault_{change}"))
    with pytest.raises(AuditError, match="verify the audit, restore the ledger") as told:
        ledger.charge(a_request())
    assert told.value.__suppress_context__, "which says what stands in the row"
    with pytest.raises(AuditError):
        ledger.verify_audit()


def test_a_scope_that_is_none_is_not_shown(ledger: Ledger, engine: Engine) -> None:
    ledger.declare("people", Budgets(10**9, scopes=(Scope("dataset", "", "day", 10**9),)), reason="a window")
    with engine.begin() as connection:
        connection.execute(text("UPDATE noisevault_scope SET span = 'zz'"))
    with pytest.raises(AuditError, match="verify the audit"):
        ledger.scopes("people")
