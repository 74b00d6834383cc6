from fractions import Fraction
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from dp.ledger.limits.budgets import Budgets, Scope
from dp.ledger.verifying.logged import Logged
from tests.dp.ledger.sealing import a_request, ledger_on
from tests.vault.watching.logs import DAY, declared, entry
from vault.watching.at_the_limit import at_the_limit
from vault.watching.thresholds import Thresholds

THRICE = Thresholds(full=Fraction(9, 10), full_windows=3)
CAP = 10**8


def spends(number: int, day: int, nano: int, kind: str = "analyst", subject: str = "ann", span: str = "day") -> Logged:
    scope = (kind, subject, span, day, nano)
    return entry(number, "count(*)", who="ann", at=day * DAY + 5, scopes=[("dataset", "", "day", day, nano), scope])


def test_who_uses_up_every_window_is_told() -> None:
    log = [
        declared(1, [("analyst", "", "day", CAP), ("dataset", "", "day", 10)]),
        *(spends(number, 10 + number // 2, CAP // 2 - 10**6) for number in range(2, 8)),
    ]
    (one,) = at_the_limit(log, THRICE)
    assert (one.code, one.principals, one.count, one.entries) == ("at-the-limit", ("ann",), 3, (2, 3, 4, 5, 6, 7))
    assert one.sentence.startswith(
        "analyst ann spent at least 90 % of the epsilon 0.1 that dataset visits allows in a day, 3 times in a row:"
    )


@pytest.mark.parametrize("days", [[1, 2, 4, 5], [1, 3, 5], [1, 1, 1]], ids=["gaps", "every second", "one day"])
def test_windows_that_do_not_follow_each_other_are_not(days: list[int]) -> None:
    log = [declared(0, [("analyst", "ann", "day", CAP)]), *(spends(n, day, CAP) for n, day in enumerate(days, 1))]
    assert not list(at_the_limit(log, THRICE))


def test_the_longest_run_is_told() -> None:
    days = [1, 2, 3, 7, 8, 9, 10, 20]
    log = [declared(0, [("analyst", "ann", "day", CAP)]), *(spends(n, day, CAP) for n, day in enumerate(days, 1))]
    (one,) = at_the_limit(log, THRICE)
    assert (one.count, one.entries) == (4, (4, 5, 6, 7))


def test_groups_are_looked_at_and_what_has_no_next_window_or_is_of_all_is_not() -> None:
    def log(kind: str, subject: str, span: str) -> list[Logged]:
        each = (spends(n, n, CAP, kind, subject, span) for n in range(1, 5))
        return [declared(0, [(kind, subject, span, CAP)]), *each]

    (one,) = at_the_limit(log("group", "students", "day"), THRICE)
    assert one.sentence.startswith("group students spent")
    assert not list(at_the_limit(log("analyst", "ann", "ever"), THRICE))
    assert not list(at_the_limit(log("column", "age", "day"), THRICE))


def test_the_last_declaration_counts_and_what_has_no_cap_any_more_is_never_full() -> None:
    spent = [spends(n, n, CAP) for n in range(1, 5)]
    first = declared(0, [("analyst", "ann", "day", CAP)])
    assert list(at_the_limit([first, *spent], THRICE))
    assert not list(at_the_limit([first, *spent, declared(9, [("analyst", "ann", "day", 2 * CAP)])], THRICE))
    assert not list(at_the_limit([first, *spent, declared(9, [])], THRICE))


def test_what_was_spent_before_does_not_count_and_entries_may_know_no_scopes() -> None:
    log = [declared(0, [("analyst", "ann", "day", CAP)]), *(spends(n, n, CAP) for n in range(1, 5))]
    assert list(at_the_limit(log, THRICE, since=2 * DAY))
    assert not list(at_the_limit(log, THRICE, since=3 * DAY))
    bare = [Logged(1, {"kind": "policy", "at": 1, "dataset": "visits"}), entry(2, "count(*)")]
    assert not list(at_the_limit(bare, THRICE))


def test_what_a_real_ledger_writes_is_read(tmp_path: Path) -> None:
    """Somebody who spends the day's budget on each of three days, and somebody who does not."""
    times = iter(range(10 * DAY, 20 * DAY, DAY // 8))
    engine = create_engine(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger = ledger_on(engine, now=lambda: next(times))
    ledger.create_schema()
    ledger.declare("people", Budgets(10 * CAP, scopes=(Scope("analyst", "", "day", CAP),)))
    for day in range(3):
        for number in range(8):
            who = "bob" if number == 7 else "ann"
            ledger.charge(a_request(CAP // 8 - 1, f"question {day} {number}", principal=who))
    found = list(at_the_limit(ledger.logged(), Thresholds(full=Fraction(8, 10), full_windows=3)))
    assert [(one.principals, one.count) for one in found] == [(("ann",), 3)]
    engine.dispose()
