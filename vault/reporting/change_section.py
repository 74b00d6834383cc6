"""Change section: what operators changed of budgets and epochs in the quarter, and why."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from dp.ledger.limits.copies import is_of_copies
from dp.nano import show, show_atto
from kms.utc_text import to_the_minute
from vault.reporting.figures import Change, LogFigures
from vault.reporting.ledger_sections import ALL
from vault.reporting.page import Grid, Section

__all__ = ["change_section", "moment", "what_changed"]


def moment(at: int) -> str:
    """at: microseconds since 1970."""
    return to_the_minute(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at))


def change_section(log: LogFigures) -> Section:
    if not log.changes:
        return Section("Budgets and epochs that were changed", ["None."])
    headings = ("entry", "at", "dataset", "what", "reason")
    rows = [
        (str(c.sequence), moment(c.at), _whose(c), what_changed(c.kind, c.members), c.reason or "none was given")
        for c in log.changes
    ]
    return Section("Budgets and epochs that were changed", [Grid(headings, rows, frozenset({"entry"}))])


def _whose(change: Change) -> str:
    return "copies" if is_of_copies(change.dataset) else change.dataset


def what_changed(kind: str, of: Mapping[str, Any]) -> str:
    """What an entry of a change says, beside its reason. kind: policy, lifetime or epoch. of: its members."""
    if kind == "epoch":
        return f"epoch {of['epoch']}: questions get new answers, at new charges"
    before = "" if of.get("before_nano_epsilon") is None else f", before {_promise(of, 'before')}"
    return "; ".join((f"lifetime {_promise(of, 'lifetime')}{before}", *_beside(of)))


def _beside(of: Mapping[str, Any]) -> Iterator[str]:
    """What was declared with a lifetime."""
    if of.get("datasets"):
        yield f"shared by {', '.join(of['datasets'])}"
    for kind, subject, span, cap in of.get("scopes", ()):
        window = "for ever" if span == "ever" else f"a {span}"
        yield f"{f'{kind} {subject}' if subject else ALL[kind]}: {show(cap)} {window}"
    for group, who in of.get("members", ()):
        yield f"{who} is in {group}"
    limits = (("least_nano_epsilon", "at least"), ("most_nano_epsilon", "at most"))
    if told := [f"{word} {show(of[name])}" for name, word in limits if of.get(name)]:
        yield f"a question costs {' and '.join(told)}"
    if of.get("separate"):
        yield f"a budget of its own: {of['separate']}"
    if of.get("accepted"):
        yield "accepted past the soft limit"


def _promise(of: Mapping[str, Any], which: str) -> str:
    delta = of.get(f"{which}_atto_delta") or 0
    return f"epsilon {show(of[f'{which}_nano_epsilon'])}" + (f", delta {show_atto(delta)}" if delta else "")
