"""Due watching: what in the audit log an operator should look at, and was not told of by the run before."""

import threading
from collections.abc import Iterable, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from typing import Final

from dp import DpError
from dp.ledger import Ledger
from dp.ledger.verifying.logged import Logged
from vault.cli.maintenance_context import SHORT, MaintenanceContext
from vault.maintenance.step import Outcome, Result, Step, Task
from vault.opened_ledger import open_ledger
from vault.policy import Policy
from vault.watching.errors import WatchingError
from vault.watching.warning import Warned

__all__ = ["charged_since", "due_watching"]


# Ours: by how much the clocks of machines may differ.
CLOCKS: Final = timedelta(hours=1)


def due_watching(context: MaintenanceContext) -> Sequence[Task]:
    """Due is what ends with an entry that is later than all that was told before. No question's text is told.

    Where nothing was asked since the last run no text is opened.

    Raises: WatchingError.
    """
    policy = context.project.policy
    if not policy.dataset:
        return []
    last_run, last = context.last(Step.MAINTAIN, ""), context.last(Step.WATCH, "")
    look_again = last_run is None or (last is not None and last.outcome.is_failure)
    before = None if look_again or last_run is None else last_run.begun_at - CLOCKS
    with closing(open_ledger(policy, context.project.opened.keyring)) as ledger:
        try:
            if before is not None and not charged_since(ledger.logged(2**63 - 1), before):
                return []
            found = _watched(ledger, policy)
        except DpError as error:
            raise WatchingError(str(error)) from None
    told = int(last.goal) if last is not None and last.goal.isdigit() else 0
    new = [one for one in found if one.last > told]
    if not new:
        return []
    codes = ", ".join(f"{one.code} in dataset {one.dataset}" for one in new)
    said = f"look at it by noisevault audit watch: {codes}"

    def run(_stop: threading.Event) -> Result:
        return Result(Outcome.DONE, said, goal=str(max(one.last for one in new)))

    return [Task(Step.WATCH, "", f"somebody should look at what was asked ({codes})", run, SHORT)]


def _watched(ledger: Ledger, policy: Policy) -> Sequence[Warned]:
    from vault.cli.watching import SINCE, since_microseconds
    from vault.watching.watch import watch

    begin = since_microseconds(SINCE)
    return watch(ledger.logged(begin), policy, since=begin)


def charged_since(entries: Iterable[Logged], moment: datetime) -> bool:
    """Whether there is anything to look at that was not there at a moment. moment: of a zone that is known."""
    since = round(moment.timestamp() * 10**6)
    return any(entry.kind == "charge" and entry.at >= since for entry in entries)
