"""verify: open every value, recompute every index term, and name each row that fails."""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Final

import typer
from rich.console import Console
from sqlalchemy import Table

from vault.cli.audit_events import audited
from vault.cli.job_ending import INCOMPLETE, STOPPED
from vault.cli.job_keys import job_keys
from vault.cli.models import ModelsOption
from vault.cli.options import POLICY, JsonOption, PolicyOption, open_project
from vault.cli.recipes import CommandPlace, VerifyRecipe
from vault.cli.running_jobs import running_jobs
from vault.cli.sharing import DaskOption, WorkersOption, sharing
from vault.errors import PolicyError
from vault.jobs.events import Event, RowWrong
from vault.jobs.job_store import JobState
from vault.jobs.pace import PaceSettings
from vault.jobs.verifying.finding import FindingKind
from vault.jobs.verifying.row_check import RowCheck
from vault.jobs.verifying.verify import JOB, Verify, VerifySettings, VerifyTally
from vault.mapping.definitions import sealed_columns
from vault.policy import unbound_fields
from vault.project import Project
from vault.sample_size import Sample

__all__ = ["verify_tables"]

DEFAULT: Final = VerifySettings()


def parse_sample(text: str) -> Sample:
    """Raises: typer.BadParameter."""
    try:
        return Sample.parse(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def verify_tables(
    table: Annotated[list[str] | None, typer.Argument(help="Tables; all of the policy when none is given.")] = None,
    sample: Annotated[
        Sample | None,
        typer.Option(parser=parse_sample, metavar="N|P%", help="N rows, or P% of them, picked at random."),
    ] = None,
    skip_slow: Annotated[
        bool, typer.Option("--skip-slow", help="Do not recompute the terms that argon2id makes, 20 to 50 ms each.")
    ] = False,
    rows_per_second: Annotated[
        float | None, typer.Option(min=0.1, metavar="N", help="Read at most N rows a second.")
    ] = None,
    rows_a_page: Annotated[int, typer.Option(min=1, metavar="N", help="At most N rows by one statement.")] = (
        DEFAULT.pace.most_rows
    ),
    patience: Annotated[
        float, typer.Option(min=0, metavar="S", help="How long an outage of database or key service is waited for.")
    ] = DEFAULT.patience,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Write nothing, for a replica: no progress, no list of rows that fail.")
    ] = False,
    anew: Annotated[bool, typer.Option("--anew", help="From the beginning, also where a run was stopped.")] = False,
    tenants: Annotated[
        bool, typer.Option("--tenants", help="Each value under the keyring that sealed it, of all in the key store.")
    ] = False,
    workers: WorkersOption = None,
    dask: DaskOption = None,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Open every value, recompute every index term, name each row that fails; change none. Services go on.

    Exit status: 0 all rows are whole, 3 rows fail, 4 stopped before the end, 1 refused or failed.
    """
    pace = PaceSettings(most_rows=rows_a_page, rows_per_second=rows_per_second)
    settings = VerifySettings(pace, sample, keep=not read_only, anew=anew, patience=patience)
    console, tallies = Console(), []
    alone = sample is not None or read_only  # what others do is told by the progress that they keep
    if alone and (dask is not None or (workers or 1) > 1):
        raise PolicyError("a sample, and a run that writes nothing, are of one process: leave --workers and --dask out")
    place = CommandPlace.of(policy, models)
    with (
        open_project(policy, models) as project,
        sharing(project, 1 if alone else workers, dask) as shared,
        audited(project, when=not alone),
        running_jobs(console, as_lines_of_json=as_json) as around,
    ):
        named = [project.table(name) for name in table or project.tables]
        unbound = sum(map(_told(around.notify), unbound_datasets(project, named)))
        for one in named:
            if (table or sealed_columns(one)) and not around.stop.is_set():
                with job_keys(project, one, tenants=tenants) as keys:
                    check = RowCheck(one, keys, skip_slow=skip_slow)
                    if not as_json:
                        _say(console, slow_remark(check, skipped=skip_slow))
                    sharers = shared.of(VerifyRecipe(place, one.fullname, tenants, skip_slow))
                    verify = Verify(check, project.engine, settings, around.notify, around.stop, shared=sharers)
                    tallies.append(verify.run())
    for tally in tallies if not as_json else ():
        _say(console, in_one_line(tally, sample))
    if around.stop.is_set() or any(tally.outcome is JobState.STOPPED for tally in tallies):
        Console(stderr=True).print("stopped after the page in hand; go on by the same command", soft_wrap=True)
        raise typer.Exit(STOPPED)
    if unbound or any(tally.failed for tally in tallies):
        raise typer.Exit(INCOMPLETE)


def unbound_datasets(project: Project, tables: Sequence[Table]) -> Iterator[RowWrong]:
    """The sealed columns that a dataset opens and that do not bind its unit."""
    names = {table.fullname for table in tables}
    for dataset, table, column in unbound_fields(project.policy):
        if table in names:
            reason = f"dataset.{dataset}: add its unit to the column's bind, or accept the risk by accept_unbound"
            yield RowWrong(JOB, table, "", column, FindingKind.UNBOUND.value, reason)


def slow_remark(check: RowCheck, *, skipped: bool) -> str:
    """What an index whose terms are made slowly means for this run; empty where there is none."""
    if not check.slow:
        return ""
    names = f"{check.table.fullname}: {', '.join(check.slow)}"
    if skipped:
        return f"{names}: made by argon2id, not recomputed"
    return f"{names}: made by argon2id, 20 to 50 ms a row; leave it out by --skip-slow, or look at a --sample"


def in_one_line(tally: VerifyTally, sample: Sample | None) -> str:
    """What a run over one table found."""
    rows = f"{tally.seen} rows{'' if sample is None else ' of a sample'}"
    if tally.outcome is JobState.STOPPED:
        return f"{tally.table}: {rows} verified, {tally.failed} fail; stopped before the end"
    if sample is not None and not tally.seen:
        return f"{tally.table}: no row is in the sample, so none was verified; take a larger one"
    if not tally.failed:
        return f"{tally.table}: {rows} verified, all are whole"
    faults = ", ".join(f"{column} {kind} {number}" for column, kind, number in tally.faults)
    return f"{tally.table}: {rows} verified, {tally.failed} fail ({faults})"


def _told(notify: Callable[[Event], None]) -> Callable[[Event], int]:
    def tell(event: Event) -> int:
        notify(event)
        return 1

    return tell


def _say(console: Console, line: str) -> None:
    if line:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
