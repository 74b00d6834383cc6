"""Due refusals: tables that were made anew since a key was cleared there, and have lost the triggers that refuse it."""

import threading
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from kms import KeyState
from vault.cli.maintenance_context import MaintenanceContext
from vault.maintenance.step import Outcome, Result, Step, Task
from vault.triggers.patient_ddl import PATIENCE

__all__ = ["due_refusals"]

# Ours: what was refused, as to a role that may make no trigger, is not tried again within a day.
TRY_AGAIN: Final = timedelta(days=1)
SCOPE: Final = "triggers"
ENDED: Final = frozenset({KeyState.RETIRED, KeyState.DESTROYED})


def due_refusals(context: MaintenanceContext) -> Sequence[Task]:
    """One for all tables. Only the catalogue is read."""
    if not any(record.state in ENDED for record in context.keys):
        return []
    from vault.cli.key_clearing import KeyClearing

    clearing = KeyClearing(context.project)
    tables = ", ".join(table.fullname for table, _ in clearing.unrefused())
    last = context.last(Step.RETIRE, SCOPE)
    tried = last is not None and last.outcome.is_failure and context.records.now() - last.ended_at < TRY_AGAIN
    if not tables or tried:
        return []

    def run(_stop: threading.Event) -> Result:
        return Result(Outcome.DONE, f"{', '.join(clearing.refuse_again())}: keys that ended are refused again")

    why = f"{tables} was made anew, and no trigger refuses keys that ended"
    return [Task(Step.RETIRE, SCOPE, why, run, PATIENCE)]
