"""History: every change of a changeover's phase, with the time, who made it and why; nothing is deleted from it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, func, insert, select

from kms.key_rows import time_text
from kms.locked_keyring import LockedKeyring
from vault.changeover.phase import Changeover, Phase, Subject
from vault.changeover.tables import changeover_event_table, is_of

__all__ = ["ChangeoverEvent", "read_history", "record_event"]

# What a row says instead of a phase before the begin and after the end.
NO_PHASE: Final = 0


@dataclass(frozen=True, slots=True)
class ChangeoverEvent:
    """One change, as it was recorded. before, after: the phases; None before the begin and after the end."""

    number: int
    subject: Subject
    old: str
    new: str
    before: Phase | None
    after: Phase | None
    at: datetime
    who: str
    why: str


def record_event(
    keyring: LockedKeyring, of: Changeover, before: Phase | None, after: Phase | None, who: str, why: str
) -> None:
    """In the transaction that makes the change; numbered within the keyring, whose changes queue."""
    table, keyring_id = changeover_event_table, keyring.state.keyring_id
    last = keyring.connection.scalar(select(func.max(table.c.number)).where(table.c.keyring_id == keyring_id)) or 0
    row = {
        "keyring_id": keyring_id,
        "number": last + 1,
        "table_name": of.subject.table,
        "column_name": of.subject.column,
        "index_name": of.subject.index,
        "old_place": of.old,
        "new_place": of.new,
        "phase_before": int(before or NO_PHASE),
        "phase_after": int(after or NO_PHASE),
        "at": time_text(keyring.clocks.later),
        "who": who,
        "why": why,
    }
    keyring.connection.execute(insert(table).values(row))


def read_history(connection: Connection, keyring_id: bytes, subject: Subject | None = None) -> list[ChangeoverEvent]:
    """In order; of one subject, or of all of the keyring."""
    table = changeover_event_table
    statement = select(table).where(table.c.keyring_id == keyring_id).order_by(table.c.number)
    if subject is not None:
        statement = statement.where(is_of(table, subject))
    return [_event_from(row) for row in connection.execute(statement)]


def _event_from(row: Any) -> ChangeoverEvent:
    before, after = (None if number == NO_PHASE else Phase(number) for number in (row.phase_before, row.phase_after))
    subject = Subject(row.table_name, row.column_name, row.index_name)
    at = datetime.fromisoformat(row.at)
    return ChangeoverEvent(row.number, subject, row.old_place, row.new_place, before, after, at, row.who, row.why)
