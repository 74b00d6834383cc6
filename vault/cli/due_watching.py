"""Due watching: what in the audit log an operator should look at, and was not told of by the run before."""

import threading
from collections.abc import Sequence
from contextlib import closing

from dp import DpError
from vault.bridge import open_ledger
from vault.cli.maintenance_context import SHORT, MaintenanceContext
from vault.cli.watching import SINCE, since_microseconds
from vault.maintenance.step import Outcome, Result, Step, Task
from vault.watching import watch
from vault.watching.errors import WatchingError

__all__ = ["due_watching"]


def due_watching(context: MaintenanceContext) -> Sequence[Task]:
    """Due is what ends with an entry that is later than all that was told before. No question's text is told.

    Raises: WatchingError.
    """
    policy = context.project.policy
    if not policy.dataset:
        return []
    begin = since_microseconds(SINCE)
    with closing(open_ledger(policy, context.project.opened.keyring)) as ledger:
        try:
            found = watch(ledger.logged(begin), policy, since=begin)
        except DpError as error:
            raise WatchingError(str(error)) from None
    last = context.last(Step.WATCH, "")
    told = int(last.goal) if last is not None and last.goal.isdigit() else 0
    new = [one for one in found if one.last > told]
    if not new:
        return []
    codes = ", ".join(f"{one.code} in dataset {one.dataset}" for one in new)
    said = f"look at it by noisevault audit watch: {codes}"

    def run(_stop: threading.Event) -> Result:
        return Result(Outcome.DONE, said, goal=str(max(one.last for one in new)))

    return [Task(Step.WATCH, "", f"somebody should look at what was asked ({codes})", run, SHORT)]
