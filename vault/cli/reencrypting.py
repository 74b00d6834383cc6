"""reencrypt: move every sealed value to the active key, with progress, services going on."""

from typing import Annotated, Final

import typer
from rich.console import Console

from vault.cli.audit_events import audited
from vault.cli.job_ending import end_with, say_tally
from vault.cli.job_keys import job_keys
from vault.cli.models import ModelsOption
from vault.cli.options import POLICY, JsonOption, PolicyOption, open_project
from vault.cli.recipes import CommandPlace, ReencryptRecipe
from vault.cli.running_jobs import running_jobs
from vault.cli.sharing import DaskOption, WorkersOption, sharing
from vault.jobs.engine import Job
from vault.jobs.job_settings import JobSettings
from vault.jobs.pace import PaceSettings
from vault.jobs.reencrypt import Reencrypt
from vault.mapping.definitions import sealed_columns

__all__ = ["reencrypt_tables"]

DEFAULT: Final = JobSettings()


def reencrypt_tables(
    table: Annotated[list[str] | None, typer.Argument(help="Tables; all of the policy when none is given.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Read and open, say what would be done, write nothing.")
    ] = (False),
    rows_per_second: Annotated[
        float | None, typer.Option(min=0.1, metavar="N", help="Rewrite at most N rows a second.")
    ] = None,
    rows_a_batch: Annotated[int, typer.Option(min=1, metavar="N", help="At most N rows in one transaction.")] = (
        DEFAULT.pace.most_rows
    ),
    batch_milliseconds: Annotated[
        int, typer.Option(min=1, metavar="MS", help="How long a batch is to take; its rows follow from that.")
    ] = round(DEFAULT.pace.target_seconds * 1000),
    lock_milliseconds: Annotated[
        int, typer.Option(min=1, metavar="MS", help="How long a batch waits for a row that a service has locked.")
    ] = round(DEFAULT.lock_seconds * 1000),
    patience: Annotated[
        float, typer.Option(min=0, metavar="S", help="How long an outage of database or key service is waited for.")
    ] = DEFAULT.patience,
    after_lease: Annotated[
        bool, typer.Option("--after-lease", help="Wait until no service can seal by an older key, then look again.")
    ] = False,
    tenants: Annotated[
        bool, typer.Option("--tenants", help="Each value under the keyring that sealed it, of all in the key store.")
    ] = False,
    workers: WorkersOption = None,
    dask: DaskOption = None,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Move every sealed value to the active key. May be stopped anywhere and started again; services go on.

    Exit status: 0 no row is left, 3 rows are left or do not open, 4 stopped before the end, 1 refused or failed.
    """
    with open_project(policy, models) as project:
        settings = JobSettings(
            PaceSettings(
                target_seconds=batch_milliseconds / 1000, most_rows=rows_a_batch, rows_per_second=rows_per_second
            ),
            lock_seconds=lock_milliseconds / 1000,
            patience=patience,
            after_lease=after_lease,
        )
        named = [project.table(name) for name in table or project.tables]
        console, tallies = Console(), []
        with (
            sharing(project, workers, dask) as shared,
            audited(project, when=not dry_run),
            running_jobs(console, as_lines_of_json=as_json) as around,
        ):
            place = CommandPlace.of(policy, models)
            for one in named:
                if (table or sealed_columns(one)) and not around.stop.is_set():
                    with job_keys(project, one, tenants=tenants) as keys:
                        work = Reencrypt.of(one, keys, lease=project.policy.vault.sealing_lease)
                        job = Job(
                            work,
                            project.engine,
                            settings,
                            notify=around.notify,
                            stop=around.stop,
                            shared=shared.of(ReencryptRecipe(place, one.fullname, tenants)),
                        )
                        tallies.append(job.rehearse() if dry_run else job.run())
        for tally in tallies if not as_json else ():
            say_tally(console, tally, project.active_data_key_id, dry_run=dry_run)
        end_with(tallies, stopped=around.stop.is_set())
