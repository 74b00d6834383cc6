"""Entries of an audit log, made by hand, and a report of them: what a log of 2026Q3 could hold."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from kms import KeyRecord, KeyState, Purpose
from kms.provider import Wrapped
from vault.reporting.collecting import Collector
from vault.reporting.figures import LogFigures
from vault.reporting.quarter import Quarter
from vault.reporting.report import AuditState, Due, KeyFigures, KeyringsBeside, Report

QUARTER = Quarter(2026, 3)
NANO = 10**9
Entry = dict[str, Any]
# What could end a cell, a tag, an attribute or a line, or turn the direction of what follows.
HOSTILE = ("<script>alert(1)</script>", "\"'&</td>", "\u202egpj.exe", "a|b `c` [d](http://e)", "x" * 190, "line\nbreak")


def at(month: int, day: int, hour: int = 12) -> int:
    moment = datetime(2026, month, day, hour, tzinfo=UTC)
    return int(moment.timestamp()) * 10**6


def policy(when: int, nano: int, dataset: str = "visits", before: int | None = None, delta: int = 0) -> Entry:
    """half of the delta is the questions', and a rho of 1 is allowed where there is one."""
    return {
        "kind": "policy",
        "at": when,
        "dataset": dataset,
        "lifetime_nano_epsilon": nano,
        "lifetime_atto_delta": delta,
        "question_atto_delta": delta // 2,
        "lifetime_nano_rho": NANO if delta else 0,
        "before_nano_epsilon": before,
        "before_atto_delta": None if before is None else 0,
    }


def lifetime(when: int, nano: int, *datasets: str, name: str = "all") -> Entry:
    """One that the datasets share."""
    entry = policy(when, nano) | {"kind": "lifetime", "name": name, "datasets": list(datasets)}
    del entry["dataset"]
    return entry | {"reason": "they are the same persons"}


def charge(when: int, nano: int, who: str = "ana", dataset: str = "visits", **more: Any) -> Entry:
    """Of a pure epsilon unless more says otherwise."""
    cost = {"nano_epsilon": nano, "nano_rho": -(-nano * nano // (2 * NANO)), "atto_delta": 0, "unbounded": 0}
    return {"kind": "charge", "at": when, "dataset": dataset, "principal": who, "charge": ""} | cost | more


def of_charge(kind: str, when: int, charge_id: str, dataset: str = "visits", **more: Any) -> Entry:
    """answer or unreleased."""
    return {"kind": kind, "at": when, "dataset": dataset, "charge": charge_id, "principal": "ana"} | more


def asked(kind: str, when: int, who: str = "ana", dataset: str = "visits", reason: str = "budget exhausted") -> Entry:
    """repeat or refusal."""
    return {"kind": kind, "at": when, "dataset": dataset, "principal": who} | (
        {"reason": reason} if kind == "refusal" else {}
    )


def numbered(entries: Iterable[Entry]) -> Iterator[Entry]:
    """With what every entry has; a charge without an id gets its number as one."""
    for sequence, entry in zip(count(1), entries, strict=False):
        known = {"sequence": sequence, "format": "f", "key": "k", "previous": "p"}
        yield entry | known | ({"charge": str(sequence)} if entry.get("charge") == "" else {})


def collected(entries: Iterable[Entry], quarter: Quarter = QUARTER) -> LogFigures:
    collector = Collector(quarter)
    for entry in numbered(entries):
        collector.add(entry)
    return collector.figures()


MOMENT = datetime(2026, 10, 2, 9, 30, tzinfo=UTC)


def key(state: KeyState = KeyState.ACTIVE, made: datetime = MOMENT - timedelta(days=200), **more: Any) -> KeyFigures:
    destroy = MOMENT if state is KeyState.RETIRED else None
    wrapped = None if state is KeyState.DESTROYED else Wrapped(b"w", "local:x", "1")
    changed = more.pop("changed", made)
    record = KeyRecord(bytes(16), Purpose.DATA, b"\1\2\3\4", 1, state, wrapped, made, changed, destroy)
    return KeyFigures(record, more.pop("seals", 300), more.pop("rows", 5), more.pop("counted_at", MOMENT))


def report(entries: Iterable[Entry] = (), **more: Any) -> Report:
    known: dict[str, Any] = {
        "quarter": QUARTER,
        "made_at": MOMENT,
        "made_by": "noisevault 1",
        "keyring": "main",
        "audit": AuditState(7, "ab" * 32),
        "log": collected(entries),
        "keys": (key(),),
        "beside": KeyringsBeside(0, {}),
        "rotate_after": timedelta(days=90),
        "due": (Due("verify", "visit", "was never verified"),),
    }
    return Report(**(known | more))
