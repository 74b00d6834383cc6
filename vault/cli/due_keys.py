"""Due keys: whether the data key is to be replaced, or the keys wrapped anew, told from the key store and service."""

import threading
from collections.abc import Sequence

from kms import Purpose
from vault.cli.maintenance_context import SHORT, MaintenanceContext
from vault.maintenance.step import Outcome, Result, Step, Task

__all__ = ["due_rewrapping", "due_rotation"]


def due_rotation(context: MaintenanceContext) -> Sequence[Task]:
    """By age or by seals. Two machines that find the same key due make one new key."""
    lifecycle, rules = context.project.opened.keyring.lifecycle, context.rules
    due = lifecycle.rotation_due(Purpose.DATA, max_age=rules.rotate_after, max_seals=rules.rotate_seals)
    if due is None:
        return []

    def run(_stop: threading.Event) -> Result:
        new = lifecycle.rotate(Purpose.DATA, due)
        return Result(Outcome.DONE, f"active data key {new.key_id.hex()}; {due.key_id.hex()} opens only")

    return [Task(Step.ROTATE, "", f"data key {due.key_id.hex()}: {due.reason}", run, SHORT)]


def due_rewrapping(context: MaintenanceContext) -> Sequence[Task]:
    """Asks the key service which version is its newest."""
    lifecycle = context.project.opened.keyring.lifecycle
    due = lifecycle.rewrap_due() if context.rules.rewrap else []
    if not due:
        return []

    def run(_stop: threading.Event) -> Result:
        return Result(Outcome.DONE, f"{len(lifecycle.rewrap())} keys wrapped by the newest version")

    return [Task(Step.REWRAP, "", f"{len(due)} keys are wrapped by an older version", run, SHORT)]
