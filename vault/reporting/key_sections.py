"""Key sections: the state that each key is in, what stands under it, what changed in the quarter, and what is due."""

from collections.abc import Iterator
from datetime import UTC, datetime

from kms import KeyRecord, KeyState
from kms.utc_text import to_the_minute
from vault.reporting.page import Grid, Section
from vault.reporting.quarter import Quarter
from vault.reporting.report import KeyFigures, Report

__all__ = ["due_section", "key_section"]


def key_section(report: Report) -> Section:
    headings = ("key", "purpose", "state", "since", "made", "seals", "rows", "counted")
    after = report.rotate_after
    rule = "rotates no key by its age" if after is None else f"rotates the data key after {after.days} days"
    parts: list[str | Grid] = [
        f"Keyring {report.keyring}, as it was at {to_the_minute(report.made_at)}. The policy {rule}.",
        Grid(headings, [_row(key, report.made_at) for key in report.keys], frozenset({"seals", "rows"})),
    ]
    happened = sorted(_happened(report))
    if happened:
        rows = [(to_the_minute(at), *what) for at, *what in happened]
        parts.append(Grid((f"in {report.quarter}, at", "key", "purpose", "what happened"), rows))
    else:
        parts.append(f"No key of it was made or changed its state in {report.quarter}.")
    if report.beside.keyrings:
        states = ", ".join(f"{number} {state}" for state, number in report.beside.states.items())
        parts.append(f"Other keyrings in the key store: {report.beside.keyrings}, with these keys: {states}.")
    return Section("Keys", parts)


def _row(key: KeyFigures, now: datetime) -> tuple[str, ...]:
    of = key.record
    counted = ("never counted", "") if key.rows is None else (str(key.rows), _moment(key.counted_at))
    times = (to_the_minute(of.changed_at), to_the_minute(of.created_at))
    return (of.key_id.hex(), of.purpose.value, _state(of, now), *times, str(key.seals), *counted)


def _state(record: KeyRecord, now: datetime) -> str:
    if record.destroy_after is not None:
        return f"{record.state.value}, kept until {to_the_minute(record.destroy_after)}"
    if record.state is KeyState.ACTIVE:
        return f"{record.state.value} for {(now - record.changed_at).days} days"
    return record.state.value


def _happened(report: Report) -> Iterator[tuple[datetime, str, str, str]]:
    """Of its states a key's record knows the last one, and when it was made."""
    for record in (key.record for key in report.keys):
        about = (record.key_id.hex(), record.purpose.value)
        if _is_in(report.quarter, record.created_at):
            yield record.created_at, *about, "made"
        if _is_in(report.quarter, record.changed_at) and record.changed_at != record.created_at:
            yield record.changed_at, *about, f"became {record.state.value}"


def _is_in(quarter: Quarter, moment: datetime) -> bool:
    return quarter.begin <= _micros(moment) < quarter.end


def _micros(moment: datetime) -> int:
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86400 + since.seconds) * 10**6 + since.microseconds


def _moment(moment: datetime | None) -> str:
    return "" if moment is None else to_the_minute(moment)


def due_section(report: Report) -> Section:
    title = f"What was due at {to_the_minute(report.made_at)}"
    if not report.due:
        return Section(title, ["Nothing."])
    rows = [(one.step, one.scope, f"could not be looked at: {one.why}" if one.fault else one.why) for one in report.due]
    return Section(title, [Grid(("step", "of", "because"), rows), "noisevault maintain does it."])
