"""Due in the audit log: charges that ended without an answer, and events of keys and jobs that were not told yet."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager

from dp import DpError
from dp.ledger import Ledger
from vault.cli.audit_events import project_events
from vault.cli.audit_recovering import OLD
from vault.cli.maintenance_context import SHORT, MaintenanceContext
from vault.errors import VaultError
from vault.maintenance.step import Outcome, Result, Step, Task
from vault.opened_ledger import open_ledger

__all__ = ["LedgerAwayError", "due_events", "due_recovery"]


class LedgerAwayError(VaultError):
    """The ledger did not do what maintenance asked of it; the message is the ledger's."""


def due_recovery(context: MaintenanceContext) -> Sequence[Task]:
    """Of charges that are older than a day. Raises: LedgerAwayError."""
    seconds = OLD.total_seconds()

    def run(_stop: threading.Event) -> Result:
        with _ledger(context) as ledger:
            return Result(Outcome.DONE, f"{ledger.recover(seconds)} charges are marked as not released")

    return _task(context, Step.RECOVER, lambda ledger: ledger.has_unanswered(seconds), "charges have no answer", run)


def due_events(context: MaintenanceContext) -> Sequence[Task]:
    """Of the policy's keyring and database. Raises: LedgerAwayError."""

    def is_due(ledger: Ledger) -> bool:
        return bool(ledger.untold_events(project_events(context.project)))

    def run(_stop: threading.Event) -> Result:
        with _ledger(context) as ledger:
            number = ledger.record_events(project_events(context.project))
            return Result(Outcome.DONE, f"{number} events of keys and jobs are in the audit log")

    return _task(context, Step.EVENTS, is_due, "events of keys or jobs are not in the audit log", run)


def _task(
    context: MaintenanceContext,
    step: Step,
    is_due: Callable[[Ledger], bool],
    why: str,
    run: Callable[[threading.Event], Result],
) -> Sequence[Task]:
    if not context.project.policy.dataset:
        return []  # and no ledger
    with _ledger(context) as ledger:
        return [Task(step, "", why, run, SHORT)] if is_due(ledger) else []


@contextmanager
def _ledger(context: MaintenanceContext) -> Iterator[Ledger]:
    with closing(open_ledger(context.project.policy, context.project.opened.keyring)) as ledger:
        try:
            yield ledger
        except DpError as error:
            raise LedgerAwayError(str(error)) from None
