"""Verification: the log is whole, and every counter, charge and answer is what the log says.

It needs the audit keys and no other. It cannot see that the whole database was put back to an earlier state: for
that, keep the head (see AuditHead) somewhere else and hand it in as `at_least`.
"""

import hmac
import json
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, CursorResult, Row, select

from dp.errors import AuditError
from dp.ledger.answers import stored_bytes
from dp.ledger.audit import HEAD_ID, NO_MAC, AuditHead
from dp.ledger.keys import AuditMacs
from dp.ledger.recount import Recount, require_recorded_row, with_unsaid
from dp.ledger.schema import answer, audit, audit_head, charge

ROWS_AT_A_TIME: Final = 1000


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What a sound ledger holds. head: keep it elsewhere as the checkpoint of the next verification."""

    head: AuditHead
    charges: int
    answers: int
    datasets: int


def verify(connection: Connection, macs: AuditMacs, at_least: AuditHead | None = None) -> AuditReport:
    """Read the whole log in order. connection: one that sees a single state throughout.

    Raises: AuditError naming the first entry, or else the counter, that is wrong.
    """
    recount = Recount()
    last = AuditHead(0, NO_MAC)
    with _entries(connection) as rows:
        for row in rows:
            entry = with_unsaid(_checked(row, last, macs))
            require_recorded_row(row, entry)
            recount.add(entry)
            last = AuditHead(row.sequence, row.mac)
            if at_least is not None and last.sequence == at_least.sequence and last != at_least:
                raise AuditError(f"audit entry {row.sequence} is not the one of the checkpoint: the log was rewritten")
    _require_head(connection, last, at_least)
    recount.require_same(connection)
    return AuditReport(last, recount.rows["charge"], recount.rows["answer"], len(recount.budgets))


def _entries(connection: Connection) -> CursorResult[Any]:
    """Every entry with the charge and the answer that it records, streamed."""
    statement = (
        select(
            audit,
            *(column.label(f"charge_{column.name}") for column in charge.c),
            *(column.label(f"answer_{column.name}") for column in answer.c),
        )
        .outerjoin_from(audit, charge, charge.c.audit_sequence == audit.c.sequence)
        .outerjoin(answer, answer.c.audit_sequence == audit.c.sequence)
        .order_by(audit.c.sequence)
    )
    return connection.execute(statement, execution_options={"yield_per": ROWS_AT_A_TIME})


def _checked(row: Row[Any], before: AuditHead, macs: AuditMacs) -> dict[str, Any]:
    """The entry of a row, when it is signed and is the next one after `before`."""
    number = before.sequence + 1
    if row.sequence != number:
        raise AuditError(
            f"audit entry {number} is missing: after {before.sequence} the log goes on with {row.sequence}"
        )
    try:
        mac = macs.by_id(bytes.fromhex(row.key_id))
    except (LookupError, ValueError, TypeError):
        raise AuditError(f"audit entry {number} names key {row.key_id!r}, which is not there; bring it back") from None
    signed = stored_bytes(row.entry)
    if not hmac.compare_digest(mac.compute(signed).hex().encode(), stored_bytes(row.mac)):
        raise AuditError(f"audit entry {number} was changed: it is not what its MAC was made of")
    entry: dict[str, Any] = json.loads(signed)
    if (entry["sequence"], entry["previous"], entry["key"]) != (number, before.mac, row.key_id):
        raise AuditError(
            f"audit entry {number} is another one, or one before it was removed: it does not follow the last"
        )
    return entry


def _require_head(connection: Connection, last: AuditHead, at_least: AuditHead | None) -> None:
    row = connection.execute(select(audit_head).where(audit_head.c.id == HEAD_ID)).one_or_none()
    if row is None:
        raise AuditError("the row of table noisevault_audit_head is gone")
    if type(row.sequence) is not int:
        raise AuditError(f"the row of table noisevault_audit_head names no entry; the last one is {last.sequence}")
    if row.sequence > last.sequence:
        raise AuditError(
            f"audit entry {last.sequence + 1} is missing: the log is cut, its head is entry {row.sequence}"
        )
    if row.sequence < last.sequence:
        raise AuditError(f"audit entry {row.sequence + 1} is beyond the head of the log")
    if row.mac != last.mac:
        raise AuditError(f"audit entry {row.sequence} is not the head of the log that was recorded")
    if at_least is not None and last.sequence < at_least.sequence:
        raise AuditError(f"audit entry {last.sequence + 1} is missing: the checkpoint is entry {at_least.sequence}")
