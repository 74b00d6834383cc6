import io
import json

from rich.console import Console

from dp.ledger import Status
from dp.ledger.limits.budgets import Budgets, Scope
from dp.ledger.limits.copies import OWN_NAME
from dp.ledger.limits.scope_status import ScopeStatus
from dp.ledger.limits.shared import SharedStatus
from vault.cli.budget_display import ShownBudget, in_one_line

NOON = 1_790_424_000_000_000
STATUS = Status("visits", 2, 3 * 10**9, 5 * 10**8, 125_000_000, 0, 0)
WITH_DELTA = Status("visits", 1, 10**9, 5 * 10**8, 125_000_000, 10**12, 0, 5 * 10**11, 20_000_000)
BUDGETS = Budgets(3 * 10**9, least_nano=10_000_000, most_nano=5 * 10**8)
SCOPES = (
    ScopeStatus(Scope("dataset", "", "day", 5 * 10**8), 10**8, 2 * 10**8, NOON),
    ScopeStatus(Scope("column", "spending", "ever", 0), 0, 0, None),
    ScopeStatus(Scope("analyst", "", "week", 10**9), 0, 0, None),
    ScopeStatus(Scope("analyst", "[b]ann", "week", 10**9), 2 * 10**9, 4 * 10**9, NOON),
)
SHARED = (
    SharedStatus("persons", ("others", "visits"), Status("persons", 0, 4 * 10**9, 10**9, 0, 0, 0)),
    SharedStatus(OWN_NAME + "ab" * 32, ("again", "visits"), Status("", 0, 10**9, 10**9, 0, 0, 0)),
)


def text(shown: ShownBudget) -> list[str]:
    written = io.StringIO()
    Console(file=written, width=200).print(shown.in_a_table())
    return [line.rstrip() for line in written.getvalue().splitlines()]


def test_beside_every_bar_of_a_window_stands_the_loss_for_life() -> None:
    assert text(ShownBudget(STATUS, BUDGETS, SCOPES, SHARED)) == [
        "budget                            within                    spent  of   more from             for life",
        "lifetime                          ever    ###.............  0.5    3                          0.5",
        "lifetime persons: others, visits  ever    ####............  1      4                          1",
        "copies: again, visits             ever    ################  1      1                          1",
        "all askers together               day     ####............  0.1    0.5  2026-09-26 12:00 UTC  0.5",
        "column spending                   ever    ################  0      0                          0",
        "each analyst                      week                             1",
        "analyst [b]ann                    week    ################  2      1    2026-09-26 12:00 UTC  4",
    ]


def test_limits_of_a_question_are_told_where_there_are_any() -> None:
    shown = ShownBudget(STATUS, BUDGETS, (), ())
    assert shown.in_lines()[1:] == ["one question costs epsilon at least 0.01 and at most 0.5"]
    assert len(ShownBudget(STATUS, Budgets(1), (), ()).in_lines()) == 1


def test_as_json_every_amount_is_exact_text() -> None:
    said = json.loads(json.dumps(ShownBudget(STATUS, BUDGETS, SCOPES, SHARED).in_json()))
    assert (said["dataset"], said["epoch"], said["lifetime"], said["spent"]) == ("visits", 2, "3", "0.5")
    assert (said["least"], said["most"]) == ("0.01", "0.5")
    assert said["scopes"][0] == {
        "kind": "dataset",
        "subject": "",
        "span": "day",
        "cap": "0.5",
        "spent": "0.1",
        "remaining": "0.4",
        "spent_for_ever": "0.2",
        "refills_at": "2026-09-26T12:00:00+00:00",
    }
    assert [scope["remaining"] for scope in said["scopes"]] == ["0.4", "0", "1", "0"]
    assert said["shared_lifetimes"][0] == {
        "name": "persons",
        "datasets": ["others", "visits"],
        "lifetime": "4",
        "spent": "1",
        "remaining": "3",
    }
    without = ShownBudget(WITH_DELTA, Budgets(1), (), ()).in_json()
    assert (without["least"], without["most"], without["scopes"]) == (None, None, [])
    assert (without["lifetime_rho"], without["spent_rho"], without["largest_question"]) == ("0.02", "0.125", "0.5")


def test_the_lifetime_stands_in_one_line_with_the_other_account_where_there_is_one() -> None:
    line = "epsilon 0.5 of 3 spent by all askers together, 2.5 left, for ever"
    assert in_one_line("visits", STATUS) == f"dataset visits: {line}"
    assert in_one_line("visits", WITH_DELTA).endswith("rho 0.125 of 0.02: one more question may cost epsilon 0.5")
