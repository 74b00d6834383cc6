"""maintain: what is due by the policy, done by one process at a time, in its window, and written down."""

import json
import time
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console

from vault.cli.due_audit import due_events, due_recovery
from vault.cli.due_checkpoint import due_checkpoint
from vault.cli.due_endings import due_destruction, due_retirement
from vault.cli.due_epochs import due_epochs
from vault.cli.due_keys import due_rewrapping, due_rotation
from vault.cli.due_reencryption import due_reencryption
from vault.cli.due_verification import due_verification
from vault.cli.due_watching import due_watching
from vault.cli.duration import parse_duration
from vault.cli.job_ending import INCOMPLETE, STOPPED
from vault.cli.maintenance_context import MaintenanceContext, maintenance_records
from vault.cli.models import ModelsOption
from vault.cli.options import POLICY, JsonOption, PolicyOption, open_project
from vault.cli.running_jobs import running_jobs
from vault.errors import JobRunningError
from vault.maintenance.run import Done, Looks, MaintenanceRun
from vault.maintenance.step import Outcome, Result, Step, Task
from vault.maintenance.turn import turn
from vault.maintenance.window import Window

__all__ = ["maintain"]

FAILED: Final = 1
# The worst outcome says how the run ended.
STATUS: Final = (
    (FAILED, {Outcome.FAILED}),
    (INCOMPLETE, {Outcome.INCOMPLETE}),
    (STOPPED, {Outcome.STOPPED, Outcome.POSTPONED}),
)
BUSY: Final = "another process maintains this database now; it was left to it"
NOTHING: Final = "nothing is due, nothing was changed"
TOO_SOON: Final = "stopped before anything was looked at, by the end of the window or by whoever asked for it"


def maintain(
    within: Annotated[
        timedelta | None,
        typer.Option("--for", parser=parse_duration, metavar="DURATION", help="The window: end within it, as 2h."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what is due, do and write nothing.")] = False,
    metrics: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write metrics for Prometheus there at the end.")
    ] = None,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Do what is due by the section `maintenance` of the policy; safe to start every hour on several machines.

    Exit status: 0 done, nothing is due, or another process is at it; 3 rows are left or fail; 4 stopped, or left for a
    later window; 1 refused, or a step failed.
    """
    begun = time.monotonic()
    with open_project(policy, models) as project:
        records = maintenance_records(project)
        if dry_run:
            _say_due(looks(MaintenanceContext(project, records, lambda _: None), counts=False), as_json=as_json)
            return
        with running_jobs(Console(), as_lines_of_json=as_json) as around:
            context = MaintenanceContext(project, records, around.notify)
            window = Window(None if within is None else within.total_seconds(), begun)
            say = partial(_say, as_json=as_json)
            try:
                with turn(project.engine, project.opened.keyring.name, around.stop) as heart:
                    moment = records.now()
                    run = MaintenanceRun(records, window, say, around.stop, heart.is_stopping)
                    ended = run.run(looks(context, counts=metrics is not None))
                    worst = _worst(ended, stopped=around.stop.is_set() or heart.is_stopping())
                    records.note(Step.MAINTAIN, "", Result(worst, ""), moment)
            except JobRunningError:
                _line({"event": "maintenance", "outcome": "left", "told": BUSY}, BUSY, as_json=as_json)
                return
        if metrics is not None:
            from vault.cli.key_measures import write_metrics

            write_metrics(context, metrics)
    if not ended:
        outcome, told = (worst.value, TOO_SOON) if worst is Outcome.STOPPED else ("nothing", NOTHING)
        _line({"event": "maintenance", "outcome": outcome, "told": told}, told, as_json=as_json)
    status = next((number for number, outcomes in STATUS if worst in outcomes), 0)
    if status:
        raise typer.Exit(status)


def looks(context: MaintenanceContext, *, counts: bool) -> Looks:
    """Every step, in order. counts: for metrics, the rows of each key too."""
    steps = {
        Step.ROTATE: due_rotation,
        Step.REWRAP: due_rewrapping,
        Step.REENCRYPT: due_reencryption,
        Step.VERIFY: due_verification,
        Step.RETIRE: due_retirement,
        Step.DESTROY: due_destruction,
        Step.RECOVER: due_recovery,
        Step.EVENTS: due_events,
        Step.EPOCH: due_epochs,
        Step.WATCH: due_watching,
        Step.AUDIT_HEAD: due_checkpoint,
    }
    if counts:
        from vault.cli.key_measures import due_count

        steps[Step.COUNT] = due_count
    return {step: partial(look, context) for step, look in steps.items()}


def _worst(ended: Sequence[Done], *, stopped: bool) -> Outcome:
    outcomes = {one.result.outcome for one in ended} | ({Outcome.STOPPED} if stopped else set())
    return next((one for _, bad in STATUS for one in sorted(bad & outcomes)), Outcome.DONE)


def _say(done: Done, *, as_json: bool) -> None:
    name = f"{done.step} {done.scope}".rstrip()
    members = {"step": done.step.value, "scope": done.scope, "outcome": done.result.outcome.value}
    text = f"{name}: {done.result.outcome}: {done.result.told}"
    _line({"event": "maintenance"} | members | {"told": done.result.told}, text, as_json=as_json)


def _say_due(due: Looks, *, as_json: bool) -> None:
    tasks: list[Task] = [task for look in due.values() for task in look()]
    for task in tasks:
        members = {"step": task.step.value, "scope": task.scope, "why": task.why, "seconds": round(task.seconds)}
        text = f"{task.step} {task.scope}".rstrip() + f" is due: {task.why}; about {task.seconds:.0f} s"
        _line({"event": "due"} | members, text, as_json=as_json)
    if not tasks:
        _line({"event": "maintenance", "outcome": "nothing", "told": NOTHING}, NOTHING, as_json=as_json)


def _line(members: dict[str, Any], text: str, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(members))
    else:
        Console(soft_wrap=True, markup=False, highlight=False).print(text)
