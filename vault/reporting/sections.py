"""Sections: a report as a page: whether the log is whole, then datasets, changes, keys, and what is due."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from dp.nano import show
from kms.utc_text import to_the_minute
from vault.reporting.change_section import change_section, moment
from vault.reporting.key_sections import due_section, key_section
from vault.reporting.ledger_sections import dataset_sections, entry_section, shared_sections
from vault.reporting.page import Grid, Page, Section
from vault.reporting.report import Report
from vault.reporting.shown_amount import epsilon_of

__all__ = ["page_of"]

VERIFIED: Final = "The audit log was verified as this page was made: every entry, counter, charge and answer."
LOSS: Final = (
    "A loss is what the answers together can tell about one person, at most. It is counted against everybody who asked,"
    " as if they were one, and against whatever they know besides."
)
LEFT_OUT: Final = "Not in it: exact exports, copies of the data, and what an answer says about everybody alike."
SOURCE: Final = (
    "Amounts are those of the audit log, by the time of its entries in UTC. No value of the data, no text of a question"
    " and no answer was read for this page."
)


def page_of(report: Report) -> Page:
    sections = [_summary(report)]
    if report.log is not None:
        sections += dataset_sections(report.quarter, report.log)
        sections += [*shared_sections(report.quarter, report.log), change_section(report.log)]
    sections += [key_section(report), due_section(report)]
    if report.log is not None:
        sections.append(entry_section(report.log))
    sections.append(Section("What these figures mean", [LOSS, LEFT_OUT, SOURCE]))
    return Page(f"NoiseVault: report of {report.quarter}", sections)


def _summary(report: Report) -> Section:
    quarter, made = report.quarter, to_the_minute(report.made_at)
    last = (quarter.after - timedelta(days=1)).isoformat()
    period = f"From {quarter.first.isoformat()} to {last}, in UTC. Made at {made} by {report.made_by}."
    parts: list[str | Grid] = [period]
    if not report.is_over:
        parts.append("The quarter is not over: what comes until its end is not in this page.")
    return Section("Summary", [*parts, *_audit(report), *_datasets(report)])


def _audit(report: Report) -> Iterator[str]:
    if report.audit is None:
        yield "The policy has no dataset, and so no ledger: nothing can be asked."
    elif report.audit.fault:
        yield f"The audit log did NOT verify: {report.audit.fault}"
        yield "So nothing that it says is in this page. Find out what happened, and make the report again."
    else:
        head = f"entry {report.audit.sequence}, {report.audit.mac or 'as nothing was written yet'}"
        yield f"{VERIFIED} Its head is {head}."
        yield from _beginning(report)


def _beginning(report: Report) -> Iterator[str]:
    """Where the log is younger than the quarter, that nothing was told of is not that nothing was spent."""
    begins_at = None if report.log is None else report.log.begins_at
    if begins_at is not None and begins_at > report.quarter.begin:
        yield f"It begins at {moment(begins_at)}: what was before is not in this page."


def _datasets(report: Report) -> Iterator[Grid]:
    if report.log is None or not report.log.datasets:
        return
    headings = ("dataset", f"epsilon spent in {report.quarter}", "for ever", "may be, for ever")
    rows = [
        (
            one.dataset,
            epsilon_of(one.spent),
            epsilon_of(one.until_end),
            "not declared" if one.lifetime is None else show(one.lifetime.limits.nano_epsilon),
        )
        for one in report.log.datasets
    ]
    yield Grid(headings, rows, frozenset(headings[1:]))
