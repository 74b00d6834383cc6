"""Events: what happened elsewhere, to a key or in a job, told to the audit log, each once.

Who tells them may tell all of them again and again; those that the log has already are passed over.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection, insert, select

from dp.errors import ParameterError
from dp.ledger.canonical_json import Plain, canonical
from dp.ledger.log.audit import AuditLog
from dp.ledger.store.schema import event
from dp.request import require_name

# Ours: how many are looked up, and written, in one transaction.
BATCH: Final = 100


@dataclass(frozen=True, slots=True)
class Event:
    """event_id: 1 to 190 printable characters, by which it is known again. kind: such as "key retired".

    fields: names, numbers and times; never a value of the data.
    Raises: ParameterError.
    """

    event_id: str
    kind: str
    fields: Mapping[str, Plain] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_name("event_id", self.event_id)
        require_name("kind", self.kind)
        try:
            canonical(self.fields)
        except TypeError as error:
            raise ParameterError("fields", str(error)) from None


def untold(connection: Connection, events: Sequence[Event]) -> list[Event]:
    """Those that the log has not, each once; nobody is made to wait."""
    told: set[str] = set()
    for start in range(0, len(events), BATCH):
        ids = {one.event_id for one in events[start : start + BATCH]}
        told.update(connection.scalars(select(event.c.event_id).where(event.c.event_id.in_(ids))))
    new: dict[str, Event] = {}
    for one in events:
        if one.event_id not in told:
            new.setdefault(one.event_id, one)
    return list(new.values())


def record(connection: Connection, log: AuditLog, events: Sequence[Event]) -> int:
    """Write those that the log has not. How many they were."""
    head = log.lock(connection)
    new = untold(connection, events)
    for one in new:
        head = log.append(connection, head, "event", event=one.event_id, what=one.kind, fields=one.fields)
        connection.execute(insert(event), {"event_id": one.event_id, "audit_sequence": head.sequence})
    return len(new)
