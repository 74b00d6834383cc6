"""Which counters a charge counts against, of the rows that apply."""

import pytest

from dp.ledger.limits.counter import Counter, ScopeRow, counters_of
from dp.ledger.limits.spans import DAY, HOUR, SPANS
from dp.ledger.limits.windows import Window

NOW = 1000 * DAY
BUCKET = SPANS["week"].at(NOW)


def row(
    kind: str, subject: str, cap: int | None, *, nano: int = 0, bucket: int = BUCKET, span: str = "week"
) -> ScopeRow:
    return ScopeRow(kind, subject, span, cap, bucket, nano)


def found(*rows: ScopeRow, at: int = NOW) -> list[tuple[str, str, int | None, int]]:
    made = counters_of(rows, "ann", at, lambda key: lambda first: 0)
    return [(each.kind, each.subject, each.cap_nano, each.window.nano) for each in made]


def test_an_analyst_has_the_own_cap_or_else_that_of_each_analyst() -> None:
    each = row("analyst", "", 5)
    assert found(each, row("analyst", "ann", 7, nano=2)) == [("analyst", "ann", 7, 2)]
    assert found(each, row("analyst", "ann", None, nano=2)) == [("analyst", "ann", 5, 2)]
    assert found(each) == [("analyst", "ann", 5, 0)]


def test_the_first_charge_makes_the_analyst_a_row() -> None:
    (made,) = counters_of([row("analyst", "", 5)], "ann", NOW + 9 * DAY, lambda key: lambda first: 0)
    assert (made.stored, made.window) == (None, Window(SPANS["week"], BUCKET + 9))


def test_a_span_that_each_analyst_has_and_the_own_rows_have_not_holds_too() -> None:
    own = row("analyst", "ann", 7, span="day", bucket=SPANS["day"].at(NOW))
    assert found(row("analyst", "", 5), own) == [("analyst", "ann", 5, 0), ("analyst", "ann", 7, 0)]


def test_what_is_declared_no_more_counts_on_without_a_cap() -> None:
    assert found(row("column", "age", None, nano=3), row("dataset", "", None)) == [
        ("column", "age", None, 3),
        ("dataset", "", None, 0),
    ]
    assert found(row("analyst", "ann", None, nano=3), row("analyst", "", None)) == [("analyst", "ann", None, 3)]
    assert found(row("analyst", "", None)) == []


def test_the_window_is_that_of_the_time_of_the_charge() -> None:
    asked = []

    def sum_from(key: tuple[str, str, str]) -> object:
        return lambda first: asked.append((key, first)) or 4  # type: ignore[func-returns-value]

    (made,) = counters_of([row("group", "g", 5, nano=5)], "ann", NOW + 3 * DAY, sum_from)  # type: ignore[arg-type]
    assert asked == [(("group", "g", "week"), BUCKET + 3 - 7)]
    assert (made.stored, made.window) == (
        Window(SPANS["week"], BUCKET, 5),
        Window(SPANS["week"], BUCKET + 3, 4),
    )
    assert made.remaining == 1


@pytest.mark.parametrize(("cap", "spent", "remaining"), [(5, 3, 2), (5, 7, 0), (None, 7, 2**63 - 8)])
def test_what_remains_is_never_negative(cap: int | None, spent: int, remaining: int) -> None:
    window = Window(SPANS["ever"], 0, spent)
    assert Counter("analyst", "ann", cap, window, window).remaining == remaining


@pytest.mark.parametrize(
    ("kind", "subject", "span", "told"),
    [
        ("dataset", "", "day", "the budget of a day"),
        ("column", "age", "quarter", "the budget of a quarter of column 'age'"),
        ("analyst", "ann", "ever", "the budget for ever of analyst 'ann'"),
    ],
)
def test_it_says_whose_budget_it_is(kind: str, subject: str, span: str, told: str) -> None:
    window = Window(SPANS[span], NOW // HOUR)
    assert str(Counter(kind, subject, 1, window, window)) == told
