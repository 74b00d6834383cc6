"""Due re-encryption: which tables may hold rows under older keys, told without reading any.

Where no older key lives, nothing can be under one. A re-encryption that left nothing is believed for a month, unless a
key was rotated or restored since; what a writer that slept brought after it, the scan before a key is retired finds.
"""

import threading
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from sqlalchemy import Table

from kms import KeyRecord, KeyState, Purpose
from vault.cli.job_ending import in_one_line
from vault.cli.job_keys import job_keys
from vault.cli.maintenance_context import MaintenanceContext
from vault.jobs.job_store import JobState
from vault.jobs.reencrypt import Reencrypt
from vault.jobs.renewal import current_header
from vault.jobs.row_keyrings import OneKeyring, RowKeyrings, row_keyrings
from vault.maintenance.records import Recorded
from vault.maintenance.step import Outcome, Result, Step, Task

__all__ = ["ENDED", "due_reencryption"]

# Ours: for so long a re-encryption that left nothing is believed.
BELIEVED: Final = timedelta(days=30)
ENDED: Final = {
    JobState.COMPLETE: Outcome.DONE,
    JobState.INCOMPLETE: Outcome.INCOMPLETE,
    JobState.STOPPED: Outcome.STOPPED,
}


def due_reencryption(context: MaintenanceContext) -> Sequence[Task]:
    """Not before the lease is over, when no service seals by an older key any more."""
    if not context.rules.reencrypt:
        return []
    return [task for table in context.tables for task in _of_table(context, table)]


def _of_table(context: MaintenanceContext, table: Table) -> Iterator[Task]:
    project, lease, scope = context.project, context.project.policy.vault.sealing_lease, table.fullname
    with job_keys(project, table, tenants=False) as keys:
        keyrings = row_keyrings(table, keys)
        if all(state.active(Purpose.DATA) is None for state in keyrings.states()):
            return  # closed: there is no key to move to
        older, work = _older(keyrings), Reencrypt(table, keyrings, lease=lease)
        goal, unsafe, declared_anew = work.goal, work.unsafe_seconds(), _declared_anew(keyrings)
    if unsafe > 0 or not (older or declared_anew):
        return
    if _is_believed(context, context.last(Step.REENCRYPT, scope), goal, older):
        return
    rows = context.rows(table)

    def run(stop: threading.Event) -> Result:
        from vault.jobs.engine import Job

        with job_keys(project, table, tenants=False) as keys:
            work = Reencrypt.of(table, keys, lease=lease)
            reached = work.goal
            tally = Job(work, project.engine, context.settings, notify=context.notify, stop=stop).run()
        through = tally.outcome is not JobState.STOPPED
        told = in_one_line(tally, project.active_data_key_id)
        return Result(ENDED[tally.outcome], told, rows if through else tally.rewritten, reached)

    why = f"rows may be under {len(older)} older keys" if older else "rows may be of an older definition"
    yield Task(Step.REENCRYPT, scope, why, run, context.seconds(Step.REENCRYPT, scope, rows), resumes=True)


def _older(keyrings: RowKeyrings) -> list[KeyRecord]:
    """Keys that open what rows hold, where there is another to move it to."""
    return [
        record
        for state in keyrings.states()
        for record in state.of(Purpose.DATA)
        if record.live and record.state is KeyState.DEACTIVATED and state.active(Purpose.DATA) is not None
    ]


def _declared_anew(keyrings: RowKeyrings) -> bool:
    """Whether a field has a later generation than its first. Of tenants' fields nothing is known without their keys."""
    if not isinstance(keyrings, OneKeyring):
        return False
    return any(current_header(field)[1] > 0 for field in keyrings.fields.values())


def _is_believed(context: MaintenanceContext, last: Recorded | None, goal: str, older: Sequence[KeyRecord]) -> bool:
    return (
        last is not None
        and last.outcome is Outcome.DONE
        and last.goal == goal
        and context.records.now() - last.ended_at < BELIEVED
        and all(record.changed_at <= last.begun_at for record in older)
    )
