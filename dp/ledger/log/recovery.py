"""Recovery: charges that ended without an answer are marked, and what is marked never gets one.

A process that was killed, or is slow beyond measure, leaves a charge that nobody knows the end of. Marking it and
storing an answer for it both hold the lock on the audit head, so one of them comes first and the other does nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, bindparam, select, update

from dp.errors import ParameterError
from dp.ledger.log.audit import AuditHead, AuditLog
from dp.ledger.store.schema import answer, charge

# Ours: how many charges are marked in one transaction, for which others wait.
BATCH: Final = 100
RECOVERED: Final = "recovery"  # the cause, in the log, of a mark that no error's class explains

_UNANSWERED: Final = (
    select(
        charge.c.charge_id,
        charge.c.visibility,
        charge.c.dataset,
        charge.c.epoch,
        charge.c.question_mac,
        charge.c.attempt,
        charge.c.principal,
        charge.c.audit_sequence,
    )
    .outerjoin_from(charge, answer, answer.c.charge_id == charge.c.charge_id)
    .where(charge.c.unreleased_sequence.is_(None), answer.c.charge_id.is_(None))
)
PENDING: Final = (
    _UNANSWERED.where(charge.c.charged_at <= bindparam("before"), charge.c.audit_sequence > bindparam("after"))
    .order_by(charge.c.audit_sequence)
    .limit(BATCH)
)
OF_CHARGE: Final = _UNANSWERED.where(charge.c.charge_id == bindparam("of_charge"))
MARK: Final = update(charge).where(charge.c.charge_id == bindparam("of_charge"), charge.c.unreleased_sequence.is_(None))


@dataclass(frozen=True, slots=True)
class Pending:
    """A charge without an answer. audit_sequence: of the entry that records it."""

    charge_id: str
    audit_sequence: int


def moment(now: int, older_than: float) -> int:
    """The time so many seconds ago, in microseconds since 1970, as now is. Raises: ParameterError."""
    if not 0 <= older_than < float("inf"):
        raise ParameterError("older_than", "it must be a number of seconds, 0 or more")
    return now - round(older_than * 1_000_000)


def pending(connection: Connection, before: int, after: int = 0) -> list[Pending]:
    """The next charges without answer or mark, in the order of the log; nobody is made to wait.

    before: charged then or earlier, in microseconds since 1970. after: an audit_sequence.
    """
    rows = connection.execute(PENDING, {"before": before, "after": after})
    return [Pending(row.charge_id, row.audit_sequence) for row in rows]


def mark_unreleased(connection: Connection, log: AuditLog, charge_ids: Sequence[str], cause: str) -> int:
    """Log of each charge that it has no answer and will have none, unless it has one or is marked. How many it was of.

    What they cost stays spent. cause: the name of an error's class, for operators; never its text.
    """
    head, marked = log.lock(connection), 0
    for charge_id in charge_ids:
        row = connection.execute(OF_CHARGE, {"of_charge": charge_id}).mappings().one_or_none()
        if row is not None:
            fields = {name: value for name, value in row.items() if name not in {"charge_id", "audit_sequence"}}
            head = log.append(connection, head, "unreleased", **fields, cause=cause, charge=charge_id)
            set_mark(connection, charge_id, head)
            marked += 1
    return marked


def set_mark(connection: Connection, charge_id: str, head: AuditHead) -> None:
    """head: the entry that says that the charge has no answer of its own."""
    connection.execute(MARK.values(unreleased_sequence=head.sequence), {"of_charge": charge_id})
