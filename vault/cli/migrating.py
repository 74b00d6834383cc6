"""mode, backfill, restore, clear: move a field between its plaintext and its sealed column, while services go on."""

import getpass
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from sqlalchemy import Column

from kms.utc_text import to_the_second
from vault.cli.audit_events import audited
from vault.cli.job_ending import STOPPED, end_with, in_others_hands, why_left
from vault.cli.models import ModelsOption
from vault.cli.one_database import OnlyHereOption, refuse_other_databases
from vault.cli.options import POLICY, JsonOption, PolicyOption, open_project
from vault.cli.recipes import CommandPlace, MigrationRecipe
from vault.cli.running_jobs import running_jobs
from vault.cli.sharing import DaskOption, Sharing, WorkersOption, sharing
from vault.errors import PolicyError
from vault.jobs.engine import Job
from vault.jobs.job_settings import JobSettings
from vault.jobs.job_store import JobState
from vault.jobs.migrating.backfill import Backfill
from vault.jobs.migrating.clear import Clear
from vault.jobs.migrating.field_migration import FieldMigration, Moved
from vault.jobs.migrating.restore import Restore
from vault.jobs.migrating.works import WORKS
from vault.jobs.pace import PaceSettings
from vault.jobs.work import Work
from vault.mapping.definitions import is_migrating, plaintext_column, sealed_columns
from vault.modes.mode import Mode
from vault.modes.recorded_modes import mode_of
from vault.project import Project

__all__ = ["backfill", "clear", "mode", "restore"]

FieldArgument = Annotated[str, typer.Argument(metavar="TABLE.COLUMN", help="The sealed column, or its plaintext.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Read, say what would be done, write nothing.")]
Rate = Annotated[float | None, typer.Option(min=0.1, metavar="N", help="Write at most N rows a second.")]
Wait = Annotated[
    bool,
    typer.Option(
        "--after-lease",
        help="Wait until every process is in the mode, so that the run proves that no row is left, and run then.",
    ),
]


def mode(
    field: FieldArgument,
    to: Annotated[Mode | None, typer.Option(help="The mode to go to, one step from that in force.")] = None,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Why; recorded with who and when.")] = None,
    only_here: OnlyHereOption = False,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show in which mode a migrating field is, and how it came there; or change it, by one step.

    Exit status: 0, also where it is in that mode already; 1 refused: the step waits for something, which is told.
    """
    with open_project(policy, models) as project:
        migration = migration_of(project, field)
        if to is not None:
            if not reason:
                raise PolicyError("a change of mode is recorded with its reason: say it by --reason")
            if not only_here:
                refuse_other_databases(project, "a field migrates")
            migration.change(to, who=operator(), why=reason)
        changeover = migration.find()
        history = migration.store.history(migration.subject)
    now = mode_of(changeover)
    over = None if changeover is None else migration.lease_over(changeover)
    if as_json:
        typer.echo(
            json.dumps({"field": migration.label, "mode": now.value, "everywhere_at": over and over.isoformat()})
        )
        return
    console = Console(soft_wrap=True, markup=False, highlight=False)
    console.print(f"{migration.label} (plaintext in {migration.plaintext.name}): mode {now.value}")
    if over is not None and over > datetime.now(UTC):
        console.print(f"  in every process from {to_the_second(over)} on")
    for event in history:
        told = "ended" if event.after is None else list(Mode)[event.after - 1].value
        console.print(f"  {to_the_second(event.at)} {told}, by {event.who}: {event.why}")


def backfill(
    field: FieldArgument,
    dry_run: DryRun = False,
    rows_per_second: Rate = None,
    after_lease: Wait = False,
    workers: WorkersOption = None,
    dask: DaskOption = None,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Seal what stands in the plaintext column, with its terms. In mode dual-read-plaintext; services go on.

    May be stopped anywhere and started again. Exit status: 0 no row is left, 3 rows are left, or are left as they are,
    4 stopped before the end, 1 refused or failed. Without --after-lease 0 may prove nothing yet: it says so.
    """
    with _shared(policy, models, workers, dask) as shared:
        _run(
            lambda migration, run: migration.backfill(run, dry_run=dry_run), field, dry_run, rows_per_second,
            after_lease, shared, as_json,
        )  # fmt: skip


def restore(
    field: FieldArgument,
    dry_run: DryRun = False,
    rows_per_second: Rate = None,
    after_lease: Wait = False,
    workers: WorkersOption = None,
    dask: DaskOption = None,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
    as_json: JsonOption = False,
) -> None:
    """The way back: open what is sealed into the plaintext column. In mode dual-read-sealed; services go on.

    May be stopped anywhere and started again. Exit status: as of backfill.
    """
    with _shared(policy, models, workers, dask) as shared:
        _run(
            lambda migration, run: migration.restore(run, dry_run=dry_run), field, dry_run, rows_per_second,
            after_lease, shared, as_json,
        )  # fmt: skip


def clear(
    field: FieldArgument,
    dry_run: DryRun = False,
    rows_per_second: Rate = None,
    after_lease: Wait = False,
    drop_guard: Annotated[
        bool, typer.Option("--drop-guard", help="Then take the trigger away too, so that the column can be dropped.")
    ] = False,
    workers: WorkersOption = None,
    dask: DaskOption = None,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set the plaintext column NULL, where a sealed value beside it opens. In mode sealed-only; services go on.

    When no row is left, the migration has ended. May be stopped anywhere and started again. Exit status: as of
    backfill.
    """

    def cleared(migration: FieldMigration, run: Callable[[Work], Any]) -> Moved:
        moved = migration.clear(run, who=operator(), why="the plaintext column is empty", dry_run=dry_run)
        if drop_guard and moved.proved:
            migration.drop_guard()
            return replace(moved, guarded=False)
        return moved

    with _shared(policy, models, workers, dask) as shared:
        _run(cleared, field, dry_run, rows_per_second, after_lease, shared, as_json)


def migration_of(project: Project, field: str) -> FieldMigration:
    """Raises: PolicyError naming the fields that are migrating."""
    table, _, name = field.rpartition(".")
    found = project.tables.get(table)
    migrating = [column for one in project.tables.values() for column in sealed_columns(one) if is_migrating(column)]
    for column in migrating:
        if column.table is found and name in {column.name, plaintext_column(column).name}:
            return FieldMigration(column, project.opened, project.engine)
    names = ", ".join(_place(column) for column in migrating) or "none"
    raise PolicyError(f"no field {field} is migrating; declared with migrating= are: {names}")


def operator() -> str:
    """Who gives the command, as the history names them."""
    return f"{getpass.getuser()}@{socket.gethostname()}"


def _place(column: "Column[Any]") -> str:
    return f"{column.table.fullname}.{column.name}"


@dataclass(frozen=True, slots=True)
class _Shared:
    """What a command has opened, and who does its job with it."""

    place: CommandPlace
    project: Project
    sharing: Sharing


@contextmanager
def _shared(policy: Path, models: str | None, workers: int | None, dask: str | None) -> Iterator[_Shared]:
    with open_project(policy, models) as project, sharing(project, workers, dask) as found:
        yield _Shared(CommandPlace.of(policy, models), project, found)


def _recipe(place: CommandPlace, migration: FieldMigration, work: Work) -> MigrationRecipe:
    assert isinstance(work, Backfill | Restore | Clear)  # noqa: S101  # the jobs of a migration
    kind = next(name for name, one in WORKS.items() if isinstance(work, one))
    return MigrationRecipe(place, migration.column.table.fullname, migration.column.name, kind, work.proving)


def _run(
    job: Callable[[FieldMigration, Callable[[Work], Any]], Moved],
    field: str,
    dry_run: bool,
    rows_per_second: float | None,
    after_lease: bool,
    shared: "_Shared",
    as_json: bool,
) -> None:
    project = shared.project
    migration = migration_of(project, field)
    settings = JobSettings(PaceSettings(rows_per_second=rows_per_second))
    console = Console(soft_wrap=True, markup=False, highlight=False)
    with audited(project, when=not dry_run), running_jobs(console, as_lines_of_json=as_json) as around:
        changeover = migration.find()
        if after_lease and changeover is not None and not dry_run:
            left = (migration.lease_over(changeover) - datetime.now(UTC)).total_seconds()
            if left > 0 and around.stop.wait(left + 0.1):
                raise typer.Exit(STOPPED)

        def run(work: Work) -> Any:
            sharers = shared.sharing.of(_recipe(shared.place, migration, work))
            one = Job(work, project.engine, settings, notify=around.notify, stop=around.stop, shared=sharers)
            return one.rehearse() if dry_run else one.run()

        moved = job(migration, run)
    if not as_json:
        _say(console, migration, moved, dry_run)
    end_with([moved.tally], stopped=around.stop.is_set())


def _say(console: Console, migration: FieldMigration, moved: Moved, dry_run: bool) -> None:
    tally = moved.tally
    if dry_run:
        console.print(
            f"{migration.label}: {tally.rewritten} rows would be written, {tally.failed} cannot be; nothing was"
            " written, and no unique index was asked"
        )
        return
    stopped = "; stopped before the end" if tally.outcome is JobState.STOPPED else ""
    console.print(
        f"{migration.label}: {tally.rewritten} rows written, {in_others_hands(tally)},"
        f" {tally.failed} left as they are, {tally.remaining} remain{stopped}"
    )
    for column, reason, number in tally.why:
        console.print(f"  {column}: {number} {reason}")
    for line in why_left(tally):
        console.print(line)
    if moved.until is not None:
        console.print(
            f"  until {to_the_second(moved.until)} a process may write as in the mode before: run it again then, or"
            " with --after-lease"
        )
    elif moved.proved and moved.guarded:
        console.print("  proved: no row is left, and the database refuses new ones")
    elif moved.proved:
        console.print("  proved: no row is left; the trigger that refuses new ones is taken away: drop the column now")
