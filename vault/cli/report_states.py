"""Report states: what a report tells beside the audit log: the keys, the rows under each, and what is due."""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path

from dp.errors import AuditError
from dp.ledger.log.audit import AuditHead
from kms.rotation_due import most_sealed
from vault.cli.maintaining import looks
from vault.cli.maintenance_context import MaintenanceContext
from vault.maintenance.head_file import read_head_file
from vault.maintenance.run import EXPECTED
from vault.maintenance.step import Step
from vault.opened_ledger import open_ledger
from vault.reporting.collecting import Collector
from vault.reporting.figures import LogFigures
from vault.reporting.quarter import Quarter
from vault.reporting.report import AuditState, Due, KeyFigures, KeyringsBeside, Report

__all__ = ["report_of"]


def report_of(context: MaintenanceContext, quarter: Quarter, *, made_at: datetime, made_by: str) -> Report:
    """Rows of each key are told as they were counted last. Raises: HeadFileError, KmsError, DpError."""
    project = context.project
    audit, log = _verified(context, quarter)
    return Report(
        quarter,
        made_at,
        made_by,
        project.opened.keyring.name,
        audit,
        log,
        tuple(_keys(context)),
        _beside(context),
        context.rules.rotate_after,
        tuple(_due(context)),
    )


def _verified(context: MaintenanceContext, quarter: Quarter) -> tuple[AuditState | None, LogFigures | None]:
    """The whole log is read once: its figures are of the entries that were verified."""
    project, head = context.project, context.rules.audit_head
    if not project.policy.dataset:
        return None, None
    kept = None if head is None else read_head_file(Path(head))
    at_least = None if kept is None else AuditHead(kept.sequence, kept.mac)
    collector = Collector(quarter)
    with closing(open_ledger(project.policy, project.opened.keyring)) as ledger:
        try:
            found = ledger.verify_audit(at_least, collector.add).head
        except AuditError as error:
            return AuditState(0, "", str(error)), None
    return AuditState(found.sequence, found.mac), collector.figures()


def _keys(context: MaintenanceContext) -> Iterator[KeyFigures]:
    counts, recorded = context.project.opened.keyring.seal_counts(), context.records.read()
    for record in context.keys:
        counted = recorded.get((Step.COUNT, record.key_id.hex()))
        seals = most_sealed(record.key_id, counts)[1]
        yield KeyFigures(
            record, seals, None if counted is None else counted.rows, None if counted is None else counted.ended_at
        )


def _beside(context: MaintenanceContext) -> KeyringsBeside:
    opened = context.project.opened
    others = [state for state in opened.key_store.load_all() if state.keyring_id != opened.keyring.id]
    states = Counter(record.state.value for state in others for record in state.records)
    return KeyringsBeside(len(others), dict(sorted(states.items())))


def _due(context: MaintenanceContext) -> Iterator[Due]:
    """What `noisevault maintain --dry-run` tells; a step that cannot be looked at does not hide the others."""
    for step, look in looks(context, counts=False).items():
        try:
            tasks = look()
        except EXPECTED as error:
            yield Due(step.value, "", str(error), fault=True)
        else:
            for task in tasks:
                yield Due(step.value, task.scope, task.why)
