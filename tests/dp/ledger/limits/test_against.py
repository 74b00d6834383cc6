"""What a charge counts against."""

import pytest
from sqlalchemy import Engine

from dp.ledger.ledger import Ledger
from dp.ledger.limits.against import Against, read_against
from dp.ledger.limits.budgets import Budgets, Scope
from dp.ledger.place import Place
from tests.dp.ledger.sealing import a_request

pytestmark = pytest.mark.databases_in_turn

SCOPES = (
    Scope("dataset", "", "day", 1),
    Scope("dataset", "", "month", 2),
    Scope("column", "age", "week", 3),
    Scope("column", "Age", "week", 4),
    Scope("column", "city", "ever", 5),
    Scope("analyst", "", "day", 6),
    Scope("analyst", "bob", "day", 7),
    Scope("group", "interns", "quarter", 8),
    Scope("group", "staff", "quarter", 9),
)
MEMBERS = (("interns", "ann"), ("interns", "eve"), ("staff", "bob"))
ALL = {(1, ""), (2, "")}


@pytest.fixture
def scoped(ledger: Ledger) -> Ledger:
    ledger.declare("people", Budgets(10**9, 8, SCOPES, MEMBERS, least_nano=1, most_nano=10), reason="scopes")
    ledger.declare("others", Budgets(5, scopes=SCOPES))
    ledger.share_lifetime("one", 10, ["people", "others"])
    ledger.share_lifetime("two", 20, ["people"])
    return ledger


def at(dataset: str) -> Place:
    return Place("principal:ann", dataset, 1, "ab" * 32)


def read(engine: Engine, dataset: str, principal: str, columns: list[str]) -> Against:
    with engine.connect() as connection:
        found = read_against(connection, at(dataset), principal, columns, 0)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("principal", "columns", "expected"),
    [
        ("ann", [], {(6, "ann"), (8, "interns")}),
        ("bob", ["age"], {(3, "age"), (7, "bob"), (9, "staff")}),
        ("carol", ["Age", "city", "name"], {(4, "Age"), (5, "city"), (6, "carol")}),
    ],
)
def test_it_is_every_scope_that_the_question_or_who_asks_it_is_under(
    scoped: Ledger, engine: Engine, principal: str, columns: list[str], expected: set[tuple[int, str]]
) -> None:
    found = read(engine, "people", principal, columns)
    assert {(each.cap_nano, each.subject) for each in found.counters} == ALL | expected
    assert len(found.counters) == len(ALL | expected)
    assert [(each.dataset, each.lifetime) for each in found.shared] == [("one", 10), ("two", 20)]


def test_the_budget_itself_is_there_too(scoped: Ledger, engine: Engine) -> None:
    found = read(engine, "people", "ann", [])
    assert found.status == scoped.status("people")
    assert (found.least_nano, found.most_nano, found.conversion_atto_delta) == (1, 10, 4)


def test_a_dataset_without_a_budget_or_without_scopes(ledger: Ledger, engine: Engine) -> None:
    found = read(engine, "people", "ann", ["age"])
    assert (found.status.lifetime, found.shared, found.counters) == (10**9, (), ())
    with engine.connect() as connection:
        assert read_against(connection, at("People"), "ann", [], 0) is None


def test_it_says_how_often_the_very_question_was_charged(ledger: Ledger, engine: Engine) -> None:
    claims = [ledger.charge(a_request(1, text)) for text in ("one", "one", "other")]
    for claim, attempts in zip(claims, (2, 2, 1), strict=True):
        with engine.connect() as connection:
            found = read_against(connection, claim.place, "ann", [], 0)  # type: ignore[union-attr]
        assert found is not None
        assert found.attempts == attempts
