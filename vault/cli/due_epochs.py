"""Due epochs: the datasets whose answers are as old as the policy lets them be, whatever their data is by now."""

import threading
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from dp import DpError
from kms.utc_text import to_the_minute
from vault.cli.maintenance_context import SHORT, MaintenanceContext
from vault.errors import PolicyError
from vault.maintenance.step import Outcome, Result, Step, Task
from vault.opened_ledger import open_ledger

__all__ = ["due_epochs"]

BY_SCHEDULE: Final = "by schedule: new_answers_every"


def due_epochs(context: MaintenanceContext) -> Sequence[Task]:
    """Raises: PolicyError where the ledger does not know a dataset, or does not answer."""
    every = {
        name: rules.new_answers_every
        for name, rules in context.project.policy.dataset.items()
        if rules.new_answers_every is not None
    }
    return [task for name, length in every.items() for task in _of_dataset(context, name, length)]


def _of_dataset(context: MaintenanceContext, name: str, length: timedelta) -> list[Task]:
    since = _since(context, name)
    if context.records.now() - since < length:
        return []
    why = f"its answers are those of {to_the_minute(since)}"
    return [Task(Step.EPOCH, name, why, partial(_advance, context, name, since), SHORT)]


def _since(context: MaintenanceContext, name: str) -> datetime:
    policy = context.project.policy
    with closing(open_ledger(policy, context.project.opened.keyring)) as ledger:
        try:
            since = ledger.epoch_since(name)
        except DpError as error:
            reason = str(error)
        else:
            return datetime.fromtimestamp(since / 1_000_000, UTC)
    raise PolicyError(reason)


def _advance(context: MaintenanceContext, name: str, since: datetime, _stop: threading.Event) -> Result:
    if _since(context, name) != since:
        return Result(Outcome.DONE, f"dataset {name}: somebody else advanced the epoch")
    with closing(open_ledger(context.project.policy, context.project.opened.keyring)) as ledger:
        try:
            epoch = ledger.advance_epoch(name, BY_SCHEDULE)
        except DpError as error:
            reason = str(error)
        else:
            return Result(Outcome.DONE, f"dataset {name}: epoch {epoch}; questions are answered anew, at a new charge")
    raise PolicyError(reason)
