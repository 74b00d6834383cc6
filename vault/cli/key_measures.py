"""Key measures: what the metrics tell of the policy's keys and jobs; rows as they were counted last, or now."""

import threading
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

from kms.rotation_due import most_sealed
from vault.cli.maintenance_context import MaintenanceContext
from vault.jobs.quarantine import rows_by_job
from vault.jobs.status import read_status
from vault.maintenance.metrics import KeyMeasure, render_metrics
from vault.maintenance.step import Outcome, Result, Step, Task
from vault.maintenance.text_file import write_text_file

__all__ = ["count_rows", "due_count", "write_metrics"]

# Ours: a count reads every row.
EVERY: Final = timedelta(days=1)


def due_count(context: MaintenanceContext) -> Sequence[Task]:
    """Once a day, and when rows have moved to another key since."""
    recorded = context.records.read()
    last = recorded.get((Step.COUNT, ""))
    moved = [one.ended_at for (step, _), one in recorded.items() if step is Step.REENCRYPT]
    if (
        last is not None
        and context.records.now() - last.ended_at < EVERY
        and last.begun_at >= max(moved, default=last.begun_at)
    ):
        return []

    def run(_stop: threading.Event) -> Result:
        return Result(Outcome.DONE, "rows were counted by key", count_rows(context))

    rows = sum(context.rows(table) for table in context.tables)
    return [
        Task(Step.COUNT, "", "the rows of each key are counted once a day", run, context.seconds(Step.COUNT, "", rows))
    ]


def count_rows(context: MaintenanceContext) -> int:
    """Note, by one scan of each table, how many rows name each key, for whoever writes metrics; and give their sum."""
    project, begun = context.project, context.records.now()
    found = read_status(project.engine, project.opened.key_store, context.tables, [project.opened.keyring.name])
    for key in found.keys:
        if key.keyring == project.opened.keyring.name:
            result = Result(Outcome.DONE, "", key.rows)
            context.records.note(Step.COUNT, key.record.key_id.hex(), result, begun)
    return sum(table.rows for table in found.tables)


def write_metrics(context: MaintenanceContext, path: Path) -> None:
    """Raises: OSError, KmsError."""
    project, recorded = context.project, context.records.read()
    counts = project.opened.keyring.seal_counts()
    keys = []
    for record in context.keys:
        counted = recorded.get((Step.COUNT, record.key_id.hex()))
        seals = most_sealed(record.key_id, counts)[1]
        keys.append(KeyMeasure(record, seals, None if counted is None else counted.rows))
    with project.engine.connect() as connection:
        left = rows_by_job(connection)
    write_text_file(path, render_metrics(project.opened.keyring.name, keys, recorded.values(), left))
