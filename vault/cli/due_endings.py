"""Due endings: keys that nothing is known to need, and retired keys whose wait is over.

A scan decides, the one of `noisevault keys retire` and `keys destroy`; what is here only says when to begin it, so that
no table is read every hour for a key that is needed.
"""

import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from kms import KeyRecord, KeyState, Purpose
from kms.utc_text import to_the_minute
from vault.cli.due_refusals import due_refusals
from vault.cli.maintenance_context import MaintenanceContext
from vault.cli.retirement_wait import retirement_wait
from vault.errors import NotClearedError
from vault.maintenance.step import Outcome, Result, Step, Task
from vault.triggers.patient_ddl import PATIENCE

if TYPE_CHECKING:
    from vault.cli.key_clearing import KeyClearing

__all__ = ["due_destruction", "due_retirement"]

# Ours: what was refused is not tried again within a day.
TRY_AGAIN: Final = timedelta(days=1)
# As Clearing: before the triggers and after them.
SCANS: Final = 2


def due_retirement(context: MaintenanceContext) -> Sequence[Task]:
    """Data keys when all tables were re-encrypted since, index keys when no slot is made by them; no ledger key.

    First the triggers that are gone: what comes meanwhile by a destroyed key is lost.
    """
    if not context.rules.retire:
        return []
    rest, now = timedelta(seconds=context.project.policy.vault.sealing_lease), context.records.now()
    endings = [
        _retirement(context, record)
        for record in context.keys
        if record.state is KeyState.DEACTIVATED
        and record.purpose is not Purpose.LEDGER
        and record.changed_at + rest < now
        and _seems_unneeded(context, record)
        and _may_try(context, Step.RETIRE, record, record.changed_at)
    ]
    return [*due_refusals(context), *endings]


def due_destruction(context: MaintenanceContext) -> Sequence[Task]:
    """Nothing unless the policy says `destroy = true`: otherwise a person confirms it."""
    if not context.rules.destroy:
        return []
    return [
        _destruction(context, record, record.destroy_after)
        for record in context.keys
        if record.destroy_after is not None
        and record.destroy_after < context.records.now()
        and _may_try(context, Step.DESTROY, record, record.destroy_after)
    ]


def _seems_unneeded(context: MaintenanceContext, record: KeyRecord) -> bool:
    if record.purpose is Purpose.INDEX:
        from vault.rows.key_uses import pinned_slots

        return not pinned_slots(context.project.opened.key_store.engine, record.keyring_id, record.key_id)
    moved = [context.last(Step.REENCRYPT, table.fullname) for table in context.tables]
    return all(one is not None and one.outcome is Outcome.DONE and one.begun_at > record.changed_at for one in moved)


def _may_try(context: MaintenanceContext, step: Step, record: KeyRecord, since: datetime) -> bool:
    """Not while other databases are missing, and not again within a day after it was refused."""
    last = context.last(step, record.key_id.hex())
    if last is None:
        return True
    if last.outcome is Outcome.WAITING and last.begun_at >= since:
        from vault.cli.key_clearing import KeyClearing

        return not KeyClearing(context.project).missing(record, since)
    return last.ended_at < since or context.records.now() - last.ended_at >= TRY_AGAIN


def _retirement(context: MaintenanceContext, record: KeyRecord) -> Task:
    from vault.cli.key_clearing import KeyClearing

    lifecycle = context.project.opened.keyring.lifecycle
    own = retirement_wait(context.project.policy.vault.declared_wait, None, short=False)
    clearing = KeyClearing(context.project, reencrypt=False, wait=own.length)

    def end() -> str:
        waits = clearing.wait_with_others(record.key_id, own)

        def look(found: KeyRecord) -> None:
            _look(context, clearing, record.changed_at)(found)
            clearing.require_wait(found, waits)

        retired = lifecycle.retire(record.key_id, waits.length, shortest=waits.shortest, look=look)
        until = "" if retired.destroy_after is None else to_the_minute(retired.destroy_after)
        return f"key {record.key_id.hex()} is retired; until {until} it can only be restored"

    return _task(context, Step.RETIRE, record, "nothing is known to need it", end)


def _destruction(context: MaintenanceContext, record: KeyRecord, since: datetime) -> Task:
    def end() -> str:
        from vault.cli.key_clearing import KeyClearing
        from vault.retirement.clearances import Clearances

        clearances = Clearances(context.project.opened.key_store, record.keyring_id)
        clearing = KeyClearing(context.project, reencrypt=False)
        look = _look(context, clearing, clearances.since_for_destroying(since))
        context.project.opened.keyring.lifecycle.destroy(record.key_id, look=look)
        return f"key {record.key_id.hex()} is destroyed: its wrapped bytes are erased from the key store"

    return _task(context, Step.DESTROY, record, "its wait is over", end)


def _look(context: MaintenanceContext, clearing: "KeyClearing", since: datetime) -> Callable[[KeyRecord], None]:
    """As of the commands; and nobody is there to be told of what nobody looked at, so that refuses too."""

    from vault.cli.still_needed import StillNeeded

    def look(found: KeyRecord) -> None:
        StillNeeded(context.project).refuse_namesakes(found, [])
        clearing.require_cleared(found, since)
        StillNeeded(context.project).refuse_unseen(found, [])

    return look


def _task(context: MaintenanceContext, step: Step, record: KeyRecord, why: str, end: Callable[[], str]) -> Task:
    key_id = record.key_id.hex()

    def run(_stop: threading.Event) -> Result:
        try:
            return Result(Outcome.DONE, end())
        except NotClearedError as error:
            places = ", ".join(place for _, place in error.databases)
            return Result(Outcome.WAITING, f"key {key_id}: this database is cleared of it, not yet {places}")

    rows = SCANS * sum(context.rows(table) for table in context.tables)
    seconds = context.seconds(step, key_id, rows) + PATIENCE
    return Task(step, key_id, f"{record.purpose} key {key_id}: {why}", run, seconds)
