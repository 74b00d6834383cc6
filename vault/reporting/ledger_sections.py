"""Ledger sections: of each dataset what the quarter spent, over time, by whom, and what that adds up to."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from dp.ledger.limits.copies import is_of_copies
from dp.nano import show, show_atto
from vault.reporting.amount import Amount
from vault.reporting.figures import DatasetFigures, Lifetime, LogFigures
from vault.reporting.page import Chart, Grid, Section
from vault.reporting.quarter import Quarter
from vault.reporting.shown_amount import delta_of, epsilon_of, pair_of, rho_of

__all__ = ["ALL", "dataset_sections", "entry_section", "shared_sections"]

# Ours: numbers of entries that a line names.
NAMED_ENTRIES: Final = 12
BOUNDS: Final = (
    "Each is a bound on what all these answers together tell about one person, rounded up, for what it holds for."
    " Declared batches are part of the sum of epsilon."
)
TOUCHED: Final = (
    "A charge counts in each that it touches, so these do not add up, and what is counted is the whole quarter, not one"
    " window. What a window gives back still counts for ever."
)
BROUGHT: Final = "A dataset that joins brings along all that it has spent."
AMOUNTS: Final = frozenset({"charges", "epsilon", "rho", "delta"})
# What a budget without a name is of.
ALL: Final = {"dataset": "all questions", "analyst": "each analyst"}


def dataset_sections(quarter: Quarter, log: LogFigures) -> Iterator[Section]:
    for one in log.datasets:
        yield Section(f"Dataset {one.dataset}", [*_budget(quarter, one), *_charts(quarter, one)])
        yield Section("By week", [_by_week(quarter, one)], 3)
        yield Section("What it adds up to", _accounts(one), 3)
        yield Section("By analyst", [_by_analyst(one)] if one.analysts else ["Nobody asked."], 3)
        if one.scopes:
            yield Section("By window, column, analyst and group", _by_scope(one), 3)
        yield Section("Refusals, and charges without an answer", list(_not_answered(one)), 3)


def _budget(quarter: Quarter, one: DatasetFigures) -> Iterator[str | Grid]:
    rows = [
        ("before the quarter", *_cells(one.before)),
        (f"in {quarter}", *_cells(one.spent)),
        ("for ever, as it ended", *_cells(one.until_end)),
    ]
    if one.lifetime is not None:
        rows.append(_limit(one.lifetime))
    yield Grid(("", "charges", "epsilon", "rho", "delta"), rows, AMOUNTS)
    if one.lifetime is None:
        yield "No budget was declared for it before the quarter's end: it answers nothing."
    yield f"It was at epoch {one.epoch} at the end. Answers given again, which costs nothing: {one.repeats}."


def _limit(lifetime: Lifetime) -> tuple[str, ...]:
    rho = show(lifetime.limits.nano_rho) if lifetime.limits.nano_rho else "no limit of its own"
    return ("may be, for ever", "", show(lifetime.limits.nano_epsilon), rho, show_atto(lifetime.atto_delta))


def _cells(amount: Amount) -> tuple[str, ...]:
    return str(amount.charges), epsilon_of(amount), rho_of(amount), delta_of(amount)


def _charts(quarter: Quarter, one: DatasetFigures) -> Iterator[Chart]:
    total, sums = one.before.nano_epsilon, []
    for day in one.days:
        total += day.nano_epsilon
        sums.append(total)
    days = tuple((quarter.first + timedelta(days=day)).isoformat() for day in range(quarter.days))
    limit = None if one.lifetime is None else one.lifetime.limits.nano_epsilon
    shown = tuple(map(show, sums))
    yield Chart("Epsilon spent for ever, day by day", days, tuple(sums), shown, bars=False, limit=limit)
    weeks = tuple(week.label for week in quarter.weeks)
    spent = tuple(week.nano_epsilon for week in one.weeks)
    yield Chart("Epsilon spent in each week", weeks, spent, tuple(map(show, spent)), bars=True)


def _by_week(quarter: Quarter, one: DatasetFigures) -> Grid:
    headings = ("week", "from", "charges", "epsilon", "rho", "delta")
    rows = [
        (week.label, week.first.isoformat(), *_cells(amount))
        for week, amount in zip(quarter.weeks, one.weeks, strict=True)
    ]
    rows.append(("together", "", *_cells(one.spent)))
    return Grid(headings, rows, frozenset(headings[2:]))


def _accounts(one: DatasetFigures) -> list[str | Grid]:
    headings = ("way of adding", "the quarter's charges", "all until its end", "holds for")
    rows = [(a.name, pair_of(a.quarter), pair_of(a.until_end), a.holds_for.value) for a in one.accounts]
    return [
        Grid(headings, rows),
        BOUNDS,
    ]


def _by_analyst(one: DatasetFigures) -> Grid:
    headings = ("analyst", "charges", "epsilon", "rho", "delta", "repeats", "refusals")
    rows = [(a.principal, *_cells(a.spent), str(a.repeats), str(a.refusals)) for a in one.analysts]
    refused = str(sum(a.refusals for a in one.analysts))
    rows.append(("together", *_cells(one.spent), str(one.repeats), refused))
    return Grid(headings, rows, frozenset(headings[1:]))


def _by_scope(one: DatasetFigures) -> list[str | Grid]:
    headings = ("budget of", "name", "window", "may be", "charges", "epsilon")
    rows = [
        (s.kind, s.subject or ALL[s.kind], s.span, _cap(s.cap_nano), str(s.charges), show(s.nano_epsilon))
        for s in one.scopes
    ]
    return [
        Grid(headings, rows, frozenset(headings[3:])),
        TOUCHED,
    ]


def _cap(nano: int | None) -> str:
    return "" if nano is None else show(nano)


def _not_answered(one: DatasetFigures) -> Iterator[str | Grid]:
    if one.refusals:
        yield Grid(("refused because", "times"), [(r, str(n)) for r, n in one.refusals.items()], frozenset({"times"}))
    else:
        yield "Nothing was refused."
    if not one.unanswered:
        yield "Every charge has its answer."
        return
    headings = ("charged, not released", "charges", "epsilon", "rho", "delta", "entries")
    rows = [
        (lost.cause or "no cause was recorded", *_cells(lost.spent), _entries(lost.entries)) for lost in one.unanswered
    ]
    yield Grid(headings, rows, frozenset(headings[1:5]))


def _entries(numbers: tuple[int, ...]) -> str:
    more = len(numbers) - NAMED_ENTRIES
    return ", ".join(map(str, numbers[:NAMED_ENTRIES])) + (f" and {more} more" if more > 0 else "")


def shared_sections(quarter: Quarter, log: LogFigures) -> Iterator[Section]:
    """None where no datasets share a lifetime."""
    for one in log.shared:
        rows = [
            (f"in {quarter}, by its datasets", *_cells(one.spent)),
            ("for ever, as it ended", *_cells(one.until_end)),
            _limit(one.lifetime),
        ]
        grid = Grid(("", "charges", "epsilon", "rho", "delta"), rows, AMOUNTS)
        datasets = ", ".join(one.datasets) or "none any more"
        named = "Lifetime of copies" if is_of_copies(one.name) else f"Shared lifetime {one.name}"
        yield Section(named, [f"Datasets: {datasets}.", grid, BROUGHT])


def entry_section(log: LogFigures) -> Section:
    rows = [(kind, str(number)) for kind, number in log.kinds.items()]
    rows.append(("together", str(sum(log.kinds.values()))))
    later = f"{log.later} entries are later than the quarter." if log.later else "No entry is later than the quarter."
    parts: list[str | Grid] = [Grid(("kind", "entries"), rows, frozenset({"entries"})), later]
    if log.events:
        events = [(what, str(number)) for what, number in log.events.items()]
        parts.append(Grid(("event of a key or job", "times"), events, frozenset({"times"})))
    return Section("Entries of the audit log", parts)
