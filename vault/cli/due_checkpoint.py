"""Due checkpoint: the head of the audit log is another than the file has, which is kept away from the ledger."""

import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from dp import DpError
from dp.ledger.log.audit import AuditHead
from vault.cli.maintenance_context import SHORT, MaintenanceContext
from vault.maintenance.head_file import HeadFileError, KeptHead, read_head_file, write_head_file
from vault.maintenance.step import Outcome, Result, Step, Task
from vault.opened_ledger import open_ledger

__all__ = ["due_checkpoint"]


def due_checkpoint(context: MaintenanceContext) -> Sequence[Task]:
    """Raises: HeadFileError when the ledger does not go on from the head in the file, which stays as it is."""
    if context.rules.audit_head is None:
        return []
    path = Path(context.rules.audit_head)
    kept = read_head_file(path)
    head = _head(context, kept)
    if head is None or head == kept:
        return []

    def run(_stop: threading.Event) -> Result:
        write_head_file(path, head)
        return Result(Outcome.DONE, f"{path} has entry {head.sequence} of the audit log")

    return [Task(Step.AUDIT_HEAD, "", f"entry {head.sequence} of the audit log is not in {path}", run, SHORT)]


def _head(context: MaintenanceContext, kept: KeptHead | None) -> KeptHead | None:
    """None where the policy has no dataset, and so no ledger, and never had one."""
    policy = context.project.policy
    if kept is None and not policy.dataset:
        return None
    with closing(open_ledger(policy, context.project.opened.keyring)) as ledger:
        try:
            head = ledger.head(None if kept is None else AuditHead(kept.sequence, kept.mac))
        except DpError as error:
            raise HeadFileError(str(error)) from None
    return KeptHead(head.sequence, head.mac)
