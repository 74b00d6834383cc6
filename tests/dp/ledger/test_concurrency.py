"""Several processes charge one dataset at once."""

import pytest
from sqlalchemy import Engine, create_engine, func, select

from dp.ledger.ledger import Ledger
from dp.ledger.limits.budgets import Budgets, Scope
from dp.ledger.store.schema import budget
from tests.dp.ledger.charging import charge_rounds, charge_two_datasets, first_ever_charge, together
from tests.dp.ledger.sealing import ledger_on
from tests.servers.databases import DATABASES
from tests.sizes import sized

EPSILON = 10**9


@pytest.fixture
def empty(engine: Engine) -> Ledger:
    return ledger_on(engine)


def test_k23_01_of_two_processes_that_cannot_both_fit_exactly_one_wins(empty: Ledger, database_url: str) -> None:
    rounds = sized(25, 1000)
    for number in range(rounds):
        empty.declare(f"round {number}", EPSILON)
    results = together(charge_rounds, [(database_url, name, 600_000_000, rounds) for name in ("ann", "bob")])
    assert [sum(pair) for pair in zip(*results, strict=True)] == [1] * rounds
    assert {empty.status(f"round {number}").spent for number in range(rounds)} == {600_000_000}
    assert empty.verify_audit().charges == rounds


ISOLATION = {
    "sqlite": ("AUTOCOMMIT", "SERIALIZABLE", "READ UNCOMMITTED"),
    "postgres": ("AUTOCOMMIT", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"),
    "mariadb": ("AUTOCOMMIT", "READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"),
}
ISOLATED = [
    pytest.param(kind.values[0], isolation, marks=kind.marks)
    for kind in DATABASES
    for isolation in ISOLATION[str(kind.values[0])]
]


@pytest.mark.parametrize(("database_url", "isolation"), ISOLATED, indirect=["database_url"])
def test_k23_01_an_engine_of_any_isolation_grants_what_fits(empty: Ledger, database_url: str, isolation: str) -> None:
    """Also one that commits each statement by itself: a charge is one transaction all the same."""
    rounds = sized(2, 50)
    for number in range(rounds):
        empty.declare(f"round {number}", Budgets(EPSILON, scopes=(Scope("dataset", "", "day", EPSILON // 2),)))
    results = together(charge_rounds, [(database_url, f"a {n}", EPSILON // 5, rounds, isolation) for n in range(4)])
    assert [sum(round_) for round_ in zip(*results, strict=True)] == [2] * rounds
    assert {empty.status(f"round {number}").spent for number in range(rounds)} == {2 * (EPSILON // 5)}
    assert empty.verify_audit().charges == 2 * rounds


def test_k23_01_of_eight_tenths_exactly_five_fit_into_a_half(empty: Ledger, database_url: str) -> None:
    rounds = sized(3, 50)
    for number in range(rounds):
        empty.declare(f"round {number}", EPSILON // 2)
    results = together(charge_rounds, [(database_url, f"analyst {n}", EPSILON // 10, rounds) for n in range(8)])
    assert [sum(round_) for round_ in zip(*results, strict=True)] == [5] * rounds
    assert {empty.status(f"round {number}").remaining for number in range(rounds)} == {0}
    empty.verify_audit()


@pytest.mark.parametrize(
    ("processes", "nano", "rounds"), [(2, 300, (3, 50)), (sized(6, 8), 100, (2, 50)), (sized(12, 32), 100, (1, 50))]
)
def test_k23_01_over_several_scopes_exactly_as_many_fit_as_the_tightest_allows(
    empty: Ledger, database_url: str, processes: int, nano: int, rounds: tuple[int, int]
) -> None:
    """Two datasets that share a lifetime of 500: no one of their scopes allows more than 400 of either."""
    members = tuple(("all", f"analyst {number}") for number in range(processes))
    kinds = (("dataset", "", "day"), ("column", "age", "week"), ("analyst", "", "ever"), ("group", "all", "month"))
    scopes = tuple(Scope(*kind, 400) for kind in kinds)
    names = [[f"round {number} {half}" for half in "ab"] for number in range(sized(*rounds))]
    for pair in names:
        for name in pair:
            empty.declare(name, Budgets(1000, scopes=scopes, members=members))
        empty.share_lifetime(f"both of {pair[0]}", 500, pair)
    results = together(charge_two_datasets, [(database_url, n, nano, len(names)) for n in range(processes)])
    fit = 500 // nano
    assert [sum(round_) for round_ in zip(*results, strict=True)] == [fit] * len(names)
    for pair in names:
        spent = [empty.status(name).spent for name in pair]
        assert sum(spent) == fit * nano == empty.shared_lifetimes(pair[0])[0].status.spent
        for name, own in zip(pair, spent, strict=True):
            of_all = [status for status in empty.scopes(name) if status.scope.kind != "analyst"]
            assert {status.spent_nano for status in of_all} == {own}
            assert sum(status.spent_nano for status in empty.scopes(name)) == 4 * own
    empty.verify_audit()


@pytest.mark.usefixtures("without_tables")
def test_k23_03_the_first_charges_ever_are_both_recorded(database_url: str) -> None:
    together(first_ever_charge, [(database_url, "ann", 500_000_000), (database_url, "bob", 300_000_000)])
    engine = create_engine(database_url)
    ledger = ledger_on(engine)
    assert ledger.status("people").spent == 800_000_000
    with engine.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(budget)) == 1
    assert ledger.verify_audit().charges == 2
    engine.dispose()
