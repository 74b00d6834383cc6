"""On PostgreSQL the application's role adds to the audit log and cannot change it, by the grants of docs/audit.md."""

import re
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, make_url, text
from sqlalchemy.exc import ProgrammingError

from dp.ask import ask
from dp.caps import Caps
from dp.errors import BudgetExhaustedError
from dp.ledger.answers import Claim
from dp.ledger.ledger import Ledger
from dp.ledger.limits.budgets import Budgets, Scope
from dp.ledger.log.events import Event
from dp.ledger.store.schema import metadata
from dp.questions.count import Count
from tests.dp.ledger.charging import three_units
from tests.dp.ledger.sealing import a_request, ledger_on

PAGE = (Path(__file__).parents[3] / "docs" / "audit.md").read_text(encoding="utf-8")
(STATEMENTS,) = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
TENTH = 100_000_000
SCOPES = tuple(
    sorted(
        [
            Scope("dataset", "", "day", 5 * TENTH),
            Scope("column", "age", "week", 5 * TENTH),
            Scope("analyst", "", "month", 5 * TENTH),
        ]
    )
)

pytestmark = pytest.mark.postgres


@pytest.fixture
def owner(postgres_url: str) -> Iterator[Engine]:
    engine = create_engine(postgres_url)
    yield engine
    engine.dispose()


@pytest.fixture
def app(owner: Engine) -> Iterator[Engine]:
    """Connected as the application's role; the tables are the owner's."""
    ledger = ledger_on(owner)
    ledger.create_schema()
    ledger.declare("people", Budgets(10**9, scopes=SCOPES))
    ledger.share_lifetime("all", 10**9, ["people"])
    name, password = f"app_{secrets.token_hex(6)}", secrets.token_hex(8)
    with owner.begin() as connection:
        connection.execute(text(f"CREATE ROLE {name} LOGIN PASSWORD '{password}'"))
        for statement in STATEMENTS.replace("noisevault_app", name).split(";"):
            if statement.strip():
                connection.execute(text(statement))
    engine = create_engine(make_url(owner.url).set(username=name, password=password))
    yield engine
    engine.dispose()
    with owner.begin() as connection:
        connection.execute(text(f"DROP OWNED BY {name}"))
        connection.execute(text(f"DROP ROLE {name}"))


def test_the_application_does_all_that_a_service_does(app: Engine) -> None:
    ledger = ledger_on(app)
    asked = a_request(TENTH, request_id="r-1", columns=("age",))
    first = ask(ledger, asked, Count(Caps(1)), three_units, salt=b"salt")
    assert ask(ledger, asked, Count(Caps(1)), three_units, salt=b"salt") == first
    assert ask(ledger, a_request(TENTH, columns=("age",)), Count(Caps(1)), three_units, salt=b"salt") == first
    assert isinstance(ledger.charge(a_request(TENTH, "another", principal="bob", columns=("age",))), Claim)
    with pytest.raises(BudgetExhaustedError):
        ledger.charge(a_request(9 * TENTH, "dear", request_id="r-2"))
    assert ledger.recover(0) == 1
    assert ledger.record_events([Event("key 1 made", "key made")]) == 1
    report = ledger.verify_audit()
    assert (report.charges, report.answers) == (2, 1)
    lines: list[bytes] = []
    assert ledger.export_audit(lines.append) == report.head
    assert isinstance(ledger, Ledger)
    assert ledger.status("people").spent == 2 * TENTH


FORBIDDEN = [
    *(f"DELETE FROM {table.name}" for table in metadata.sorted_tables),
    *(f"TRUNCATE {table.name}" for table in metadata.sorted_tables),
    "UPDATE noisevault_audit SET entry = '{}'",
    "UPDATE noisevault_audit SET mac = 'x'",
    "UPDATE noisevault_audit SET sequence = sequence + 1",
    "UPDATE noisevault_answer SET sealed_answer = 'x'",
    "UPDATE noisevault_charge SET nano_epsilon = 0",
    "UPDATE noisevault_request SET outcome = 'charge'",
    "UPDATE noisevault_event SET event_id = 'x'",
    "UPDATE noisevault_budget SET lifetime_nano_epsilon = 10",
    "UPDATE noisevault_scope SET cap_nano_epsilon = 10",
    "UPDATE noisevault_shared_lifetime SET lifetime_nano_epsilon = 10",
    "INSERT INTO noisevault_budget (dataset) VALUES ('x')",
    "ALTER TABLE noisevault_audit ADD COLUMN x INT",
    "DROP TABLE noisevault_audit",
]


def test_the_application_can_change_or_remove_nothing_of_the_log(app: Engine) -> None:
    ledger_on(app).charge(a_request(TENTH))
    for statement in FORBIDDEN:
        with app.connect() as connection, pytest.raises(ProgrammingError, match=r"permission denied|must be owner"):
            connection.execute(text(statement))
    ledger_on(app).verify_audit()
