"""Ledger sections: what each table of a hand-made log says, and what is said where there is nothing."""

from typing import Any

from tests.vault.reporting.entries import NANO, QUARTER, asked, at, charge, collected, lifetime, of_charge, policy
from vault.reporting.ledger_sections import dataset_sections, entry_section, shared_sections
from vault.reporting.page import Chart, Grid, Section

LOG = [
    policy(at(6, 1), 3 * NANO),
    charge(at(6, 2), NANO),
    charge(at(7, 1), NANO // 2, "ben"),
    of_charge("answer", at(7, 1), "3"),
    charge(at(8, 3), NANO // 4),
    of_charge("unreleased", at(8, 3), "5", cause="OperationalError"),
    asked("refusal", at(8, 4)),
    asked("repeat", at(8, 5), "ben"),
    policy(at(9, 1), 4 * NANO, before=3 * NANO, delta=10**12),
    {"kind": "epoch", "at": at(9, 2), "dataset": "visits", "epoch": 2, "reason": "a new year"},
    {"kind": "policy", "at": at(10, 2), "dataset": "visits"} | policy(at(10, 2), 5 * NANO),
]


def sections(entries: list[dict[str, Any]]) -> dict[str, Section]:
    return {one.title: one for one in dataset_sections(QUARTER, collected(entries))}


def rows(section: Section, at_part: int = 0) -> list[tuple[str, ...]]:
    part = [part for part in section.parts if isinstance(part, Grid)][at_part]
    assert all(len(row) == len(part.headings) for row in part.rows)
    return list(part.rows)


def test_the_quarter_stands_beside_what_was_spent_for_ever() -> None:
    assert rows(sections(LOG)["Dataset visits"]) == [
        ("before the quarter", "1", "1", "0.5", "0"),
        ("in 2026Q3", "2", "0.75", "0.15625", "0"),
        ("for ever, as it ended", "3", "1.75", "0.65625", "0"),
        ("may be, for ever", "", "4", "1", "0.000001"),
    ]


def test_the_line_is_of_the_lifetime_and_the_bars_are_of_the_quarter() -> None:
    line, bars = (part for part in sections(LOG)["Dataset visits"].parts if isinstance(part, Chart))
    assert (line.values[0], line.values[33], line.values[-1]) == (NANO * 3 // 2, NANO * 7 // 4, NANO * 7 // 4)
    assert (line.labels[0], line.labels[-1], line.limit, line.bars) == ("2026-07-01", "2026-09-30", 4 * NANO, False)
    assert sum(bars.values) == NANO * 3 // 4
    assert (bars.labels[0], bars.shown[0], bars.bars) == ("2026-W27", "0.5", True)


def test_weeks_and_analysts_end_with_what_they_add_up_to() -> None:
    found = sections(LOG)
    assert rows(found["By week"])[-1] == ("together", "", "2", "0.75", "0.15625", "0")
    assert rows(found["By analyst"]) == [
        ("ana", "1", "0.25", "0.03125", "0", "0", "1"),
        ("ben", "1", "0.5", "0.125", "0", "1", "0"),
        ("together", "2", "0.75", "0.15625", "0", "1", "1"),
    ]


def test_each_way_of_adding_says_what_it_holds_for() -> None:
    by_sum, by_rho = rows(sections(LOG)["What it adds up to"])
    assert by_sum[:3] == ("sum of epsilon", "0.75", "1.75")
    assert by_rho[1].endswith(" at delta 0.0000005")
    assert by_sum[3] != by_rho[3]


def test_refusals_and_charges_without_an_answer_are_told() -> None:
    section = sections(LOG)["Refusals, and charges without an answer"]
    assert rows(section) == [("budget exhausted", "1")]
    assert rows(section, 1) == [("OperationalError", "1", "0.25", "0.03125", "0", "5")]


def test_of_many_entries_the_first_are_named() -> None:
    section = sections([charge(at(7, 1), 1) for _ in range(20)])["Refusals, and charges without an answer"]
    assert rows(section)[0][-1] == "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 8 more"


def test_where_there_is_nothing_that_is_said() -> None:
    found = sections([policy(at(6, 1), NANO)])
    assert found["By analyst"].parts == ["Nobody asked."]
    assert found["Refusals, and charges without an answer"].parts == [
        "Nothing was refused.",
        "Every charge has its answer.",
    ]
    undeclared = sections([asked("refusal", at(7, 1))])["Dataset visits"]
    assert any("No budget was declared" in str(part) for part in undeclared.parts)


def test_the_entries_are_counted_by_kind() -> None:
    section = entry_section(collected(LOG))
    assert rows(section)[-1] == ("together", "8")
    assert section.parts[-1] == "1 entries are later than the quarter."
    event = {"kind": "event", "at": at(7, 1), "what": "key retired", "fields": {}}
    assert rows(entry_section(collected([event])), 1) == [("key retired", "1")]


SCOPES = [["analyst", "", "day", 10**8], ["column", "age", "month", NANO], ["dataset", "", "week", 2 * NANO]]
IN_SCOPES = [
    policy(at(6, 1), 3 * NANO) | {"scopes": SCOPES},
    charge(at(6, 2), 7, scopes=[["column", "age", "month", 0, 7]]),
    charge(at(7, 1), 5, scopes=[["analyst", "ana", "day", 0, 5], ["column", "age", "month", 1, 4]]),
    charge(at(7, 2), 5, scopes=[["analyst", "ana", "day", 1, 5], ["column", "age", "month", 1, 3]]),
    asked("refusal", at(7, 3)) | {"short": "the budget of a day of analyst 'ana'"},
]


def test_each_budget_has_its_cap_and_what_the_quarter_took_from_it() -> None:
    found = sections(IN_SCOPES)
    assert rows(found["By window, column, analyst and group"]) == [
        ("analyst", "each analyst", "day", "0.1", "0", "0"),
        ("analyst", "ana", "day", "", "2", "0.00000001"),
        ("column", "age", "month", "1", "2", "0.000000007"),
        ("dataset", "all questions", "week", "2", "0", "0"),
    ]
    refused = rows(found["Refusals, and charges without an answer"])
    assert refused == [("budget exhausted: the budget of a day of analyst 'ana'", "1")]


def test_a_lifetime_that_datasets_share_is_told_with_them() -> None:
    entries = [
        policy(at(6, 1), 3 * NANO),
        charge(at(6, 2), NANO),
        lifetime(at(6, 3), 5 * NANO, "visits"),
        charge(at(7, 1), NANO // 2),
    ]
    (section,) = shared_sections(QUARTER, collected(entries))
    assert (section.title, section.parts[0]) == ("Shared lifetime all", "Datasets: visits.")
    assert [row[:3] for row in rows(section)] == [
        ("in 2026Q3, by its datasets", "1", "0.5"),
        ("for ever, as it ended", "2", "1.5"),
        ("may be, for ever", "", "5"),
    ]


def test_a_lifetime_of_copies_is_called_so() -> None:
    (section,) = shared_sections(QUARTER, collected([lifetime(at(6, 1), NANO, name=f"copies of {'ab' * 32}")]))
    assert section.title == "Lifetime of copies"
