"""JSON form: a report for programs. Amounts are exact decimals as text, moments ISO 8601 in UTC; docs/report.md."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from dp.nano import show, show_atto
from vault.reporting.amount import Amount
from vault.reporting.figures import Change, DatasetFigures, Lifetime, LogFigures, ScopeFigures, SharedFigures
from vault.reporting.quarter import Quarter
from vault.reporting.report import AuditState, KeyFigures, Report

__all__ = ["FORMAT", "in_json"]

FORMAT: Final = "noisevault/1 report"
Members = dict[str, Any]


def in_json(report: Report) -> Members:
    return {
        "format": FORMAT,
        "quarter": str(report.quarter),
        "first_day": report.quarter.first.isoformat(),
        "last_day": (report.quarter.after - timedelta(days=1)).isoformat(),
        "is_over": report.is_over,
        "made_at": _moment(report.made_at),
        "made_by": report.made_by,
        "audit": None if report.audit is None else _audit(report.audit),
        "log": None if report.log is None else _log(report.quarter, report.log),
        "keyring": report.keyring,
        "keys": [_key(key) for key in report.keys],
        "other_keyrings": {"keyrings": report.beside.keyrings, "keys": dict(report.beside.states)},
        "due": [{"step": one.step, "scope": one.scope, "why": one.why, "fault": one.fault} for one in report.due],
    }


def _audit(state: AuditState) -> Members:
    head = None if state.fault else {"sequence": state.sequence, "mac": state.mac}
    return {"verified": not state.fault, "fault": state.fault or None, "head": head}


def _log(quarter: Quarter, log: LogFigures) -> Members:
    return {
        "datasets": [_dataset(quarter, one) for one in log.datasets],
        "shared": [_shared(one) for one in log.shared],
        "changes": [_change(one) for one in log.changes],
        "entries": dict(log.kinds),
        "events": dict(log.events),
        "later_entries": log.later,
        "begins_at": None if log.begins_at is None else _moment(_since_1970(log.begins_at)),
    }


def _dataset(quarter: Quarter, one: DatasetFigures) -> Members:
    weeks = zip(quarter.weeks, one.weeks, strict=True)
    return {
        "dataset": one.dataset,
        "epoch": one.epoch,
        "lifetime": None if one.lifetime is None else _lifetime(one.lifetime),
        "before": amount(one.before),
        "spent": amount(one.spent),
        "until_end": amount(one.until_end),
        "weeks": [{"week": week.label, "from": week.first.isoformat()} | amount(spent) for week, spent in weeks],
        "days": [
            {"day": (quarter.first + timedelta(days=day)).isoformat()} | amount(spent)
            for day, spent in enumerate(one.days)
            if spent.charges
        ],
        "analysts": [
            {"analyst": who.principal} | amount(who.spent) | {"repeats": who.repeats, "refusals": who.refusals}
            for who in one.analysts
        ],
        "scopes": [_scope(scope) for scope in one.scopes],
        "refusals": dict(one.refusals),
        "repeats": one.repeats,
        "unanswered": [
            {"cause": lost.cause or None} | amount(lost.spent) | {"entries": list(lost.entries)}
            for lost in one.unanswered
        ],
        "accounts": [
            {
                "by": account.name,
                "holds_for": account.holds_for.value,
                "quarter": _pair(account.quarter),
                "until_end": _pair(account.until_end),
            }
            for account in one.accounts
        ],
    }


def amount(of: Amount) -> Members:
    """epsilon: of the charges that have one; without_epsilon: how many have none."""
    return {
        "charges": of.charges,
        "epsilon": show(of.nano_epsilon),
        "rho": show(of.nano_rho),
        "delta": show_atto(of.atto_delta),
        "without_epsilon": of.unbounded,
    }


def _scope(of: ScopeFigures) -> Members:
    names = {"kind": of.kind, "subject": of.subject, "span": of.span}
    cap = None if of.cap_nano is None else show(of.cap_nano)
    return names | {"cap": cap, "charges": of.charges, "epsilon": show(of.nano_epsilon)}


def _shared(of: SharedFigures) -> Members:
    names = {"name": of.name, "datasets": list(of.datasets), "lifetime": _lifetime(of.lifetime)}
    return names | {"spent": amount(of.spent), "until_end": amount(of.until_end)}


def _lifetime(of: Lifetime) -> Members:
    return {
        "epsilon": show(of.limits.nano_epsilon),
        "delta": show_atto(of.atto_delta),
        "question_delta": show_atto(of.limits.atto_delta),
        "rho": show(of.limits.nano_rho) if of.limits.nano_rho else None,
    }


def _pair(pair: tuple[int | None, int]) -> Members:
    nano, atto = pair
    return {"epsilon": None if nano is None else show(nano), "delta": show_atto(atto)}


def _change(one: Change) -> Members:
    at = _moment(_since_1970(one.at))
    about = {"entry": one.sequence, "at": at, "kind": one.kind, "dataset": one.dataset, "reason": one.reason or None}
    return about | {"members": dict(one.members)}


def _key(key: KeyFigures) -> Members:
    of = key.record
    return {
        "key_id": of.key_id.hex(),
        "purpose": of.purpose.value,
        "sequence": of.sequence,
        "state": of.state.value,
        "made_at": _moment(of.created_at),
        "state_since": _moment(of.changed_at),
        "destroy_after": None if of.destroy_after is None else _moment(of.destroy_after),
        "most_seals": key.seals,
        "rows": key.rows,
        "counted_at": None if key.counted_at is None else _moment(key.counted_at),
    }


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def _since_1970(microseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)
