"""Due verification: the tables of which no sample was verified for as long as the policy allows."""

import threading
from collections.abc import Sequence

from sqlalchemy import Table

from kms.utc_text import to_the_minute
from vault.cli.due_reencryption import ENDED
from vault.cli.job_keys import job_keys
from vault.cli.maintenance_context import MaintenanceContext
from vault.maintenance.step import Outcome, Result, Step, Task

__all__ = ["due_verification"]


def due_verification(context: MaintenanceContext) -> Sequence[Task]:
    return [_of_table(context, table) for table in context.tables if _is_due(context, table)]


def _is_due(context: MaintenanceContext, table: Table) -> bool:
    last = context.last(Step.VERIFY, table.fullname)
    if last is None or last.outcome in {Outcome.FAILED, Outcome.STOPPED}:
        return True
    return context.records.now() - last.ended_at >= context.rules.verify_every


def _of_table(context: MaintenanceContext, table: Table) -> Task:
    project, sample, scope = context.project, context.rules.verify_sample, table.fullname

    def run(stop: threading.Event) -> Result:
        from vault.jobs.verifying.row_check import RowCheck
        from vault.jobs.verifying.verify import Verify, VerifySettings

        with job_keys(project, table, tenants=False) as keys:
            settings = VerifySettings(sample=sample)
            tally = Verify(RowCheck(table, keys), project.engine, settings, context.notify, stop).run()
        told = f"{scope}: {tally.seen} rows of a sample verified, {tally.failed} fail"
        return Result(ENDED[tally.outcome], told, tally.seen)

    rows = sample.rows if sample.rows is not None else int(context.rows(table) * (sample.share or 1))
    last = context.last(Step.VERIFY, scope)
    why = "was never verified" if last is None else f"was verified at {to_the_minute(last.ended_at)}"
    return Task(Step.VERIFY, scope, why, run, context.seconds(Step.VERIFY, scope, rows))
