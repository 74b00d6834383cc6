"""Checkpoint: the head of the audit log, read without the whole log, after one that was kept elsewhere."""

from sqlalchemy import Connection, select

from dp.errors import AuditError
from dp.ledger.log.audit import HEAD_ID, NO_MAC, AuditHead
from dp.ledger.store.schema import audit, audit_head

__all__ = ["head_after"]


def head_after(connection: Connection, kept: AuditHead | None) -> AuditHead:
    """The head now. connection: one that sees a single state throughout.

    Raises: AuditError when the log does not go on from the kept head: the ledger was put back, or was rewritten.
    """
    row = connection.execute(select(audit_head).where(audit_head.c.id == HEAD_ID)).one_or_none()
    if row is None:
        raise AuditError("the row of table noisevault_audit_head is gone: verify the audit, restore the ledger")
    if type(row.sequence) is not int or not isinstance(row.mac, str):
        raise AuditError("the row of table noisevault_audit_head was changed: verify the audit, restore the ledger")
    head = AuditHead(row.sequence, row.mac)
    if kept is None:
        return head
    if head.sequence < kept.sequence:
        raise AuditError(
            f"the audit log ends with entry {head.sequence}, and entry {kept.sequence} was seen: the ledger was put"
            " back to an earlier state, so budgets that were spent look unspent; restore a newer copy"
        )
    found = connection.scalar(select(audit.c.mac).where(audit.c.sequence == kept.sequence))
    if (found or NO_MAC) != kept.mac:
        raise AuditError(f"audit entry {kept.sequence} is not the one of the checkpoint: the log was rewritten")
    return head
