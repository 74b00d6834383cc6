"""Sections: the summary says whether the log is whole, and a log that is not says nothing else."""

from datetime import UTC, datetime

from tests.vault.reporting.entries import NANO, at, charge, policy, report
from vault.reporting.page import Grid, Page
from vault.reporting.report import AuditState, Report
from vault.reporting.sections import page_of

LOG = [policy(at(6, 1), 2 * NANO), charge(at(6, 1), NANO), charge(at(7, 1), NANO // 2)]


def summary(one: Report) -> str:
    return "\n".join(str(part) for part in page_of(one).sections[0].parts if isinstance(part, str))


def titles(page: Page) -> list[str]:
    return [section.title for section in page.sections if section.level == 2]


def test_a_page_has_its_parts_in_order() -> None:
    page = page_of(report(LOG))
    assert page.title == "NoiseVault: report of 2026Q3"
    assert titles(page) == [
        "Summary",
        "Dataset visits",
        "Budgets and epochs that were changed",
        "Keys",
        "What was due at 2026-10-02 09:30 UTC",
        "Entries of the audit log",
        "What these figures mean",
    ]


def test_the_summary_names_period_head_and_each_dataset() -> None:
    text = summary(report(LOG))
    assert "From 2026-07-01 to 2026-09-30, in UTC. Made at 2026-10-02 09:30 UTC by noisevault 1." in text
    assert f"Its head is entry 7, {'ab' * 32}." in text
    assert "not over" not in text
    (grid,) = (part for part in page_of(report(LOG)).sections[0].parts if isinstance(part, Grid))
    assert list(grid.rows) == [("visits", "0.5", "1.5", "2")]


def test_a_log_that_is_younger_than_the_quarter_says_so() -> None:
    assert "begins" not in summary(report(LOG))
    younger = summary(report(LOG[2:]))
    assert "It begins at 2026-07-01 12:00 UTC: what was before is not in this page." in younger
    assert "It begins at 2027-01-01 12:00 UTC" in summary(report([policy(at(6, 1) + 214 * 86400 * 10**6, NANO)]))


def test_a_quarter_that_is_not_over_says_so() -> None:
    assert "The quarter is not over" in summary(report(LOG, made_at=datetime(2026, 9, 30, tzinfo=UTC)))


def test_a_log_that_is_not_whole_gives_its_fault_and_no_figure() -> None:
    one = report(audit=AuditState(0, "", "audit entry 3 was changed"), log=None)
    assert "The audit log did NOT verify: audit entry 3 was changed" in summary(one)
    assert "was verified" not in summary(one)
    assert titles(page_of(one)) == [
        "Summary",
        "Keys",
        "What was due at 2026-10-02 09:30 UTC",
        "What these figures mean",
    ]


def test_a_policy_without_datasets_has_no_ledger() -> None:
    assert "no ledger" in summary(report(audit=None, log=None))


def test_an_empty_log_has_a_head() -> None:
    assert "Its head is entry 0, as nothing was written yet." in summary(report(audit=AuditState(0, "")))
