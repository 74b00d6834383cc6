"""jobs: look at the jobs of a project's database, pause, resume and stop them, and list what they could not do."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from vault.cli.models import ModelsOption
from vault.cli.options import POLICY, JsonOption, PolicyOption, open_database
from vault.errors import JobError
from vault.jobs.job_store import JobName, JobStore, JobWish, is_held
from vault.jobs.quarantine import listed

__all__ = ["app"]

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Look at jobs, pause, resume and stop them.")

TableArgument = Annotated[str | None, typer.Argument(help="The table; of all when none is given.")]
JobOption = Annotated[str | None, typer.Option("--job", help="The job, such as reencrypt or backfill; all by default.")]
SHOWN = ("job", "table_name", "part", "state", "number", "seen", "total", "rewritten", "missed", "failed", "changed_at")
# Ours: a run beats once a second; clocks of two machines may be so far apart.
SILENCE: Final = timedelta(minutes=1)
WIDEST = 1000  # ours, in characters: no table of jobs is as wide


@app.command(name="list")
def list_jobs(policy: PolicyOption = POLICY, models: ModelsOption = None, as_json: JsonOption = False) -> None:
    """Show every job that was begun on the database: how far it is, or how it ended."""
    with open_database(policy, models) as engine:
        rows = [dict(row) for row in JobStore(engine).all()]
    if as_json:
        for row in rows:
            told = {name: row[name] for name in (*SHOWN, "begun_at", "wish")}
            typer.echo(json.dumps(told | {"silent": is_silent(row, datetime.now(UTC))}))
        return
    heads = ("job", "table", "part", "state", "pass", "seen", "of", "rewritten", "missed", "failed", "changed at (UTC)")
    table = Table(*(Column(head, no_wrap=True) for head in heads), box=None, pad_edge=False, padding=(0, 2, 0, 0))
    now = datetime.now(UTC)
    silent = [row for row in rows if is_silent(row, now)]
    for row in rows:
        shown = row | ({"state": f"{row['state']}, silent"} if row in silent else {})
        table.add_row(*(Text(str(shown[name])[:26]) for name in SHOWN))
    if not rows:
        Console().print("no job was begun on this database yet")
        return
    Console(width=WIDEST).print(table)  # in 80 columns, as of a pipe, no cell would be left that can be read
    if silent:
        _say("silent: no sign of life for a minute, as of a run that was killed; the same command goes on with it")


def is_silent(row: Mapping[str, Any], now: datetime) -> bool:
    """Whether a job that somebody runs has not been heard of. now: by the clock of this machine."""
    return is_held(row["state"]) and now - datetime.fromisoformat(row["changed_at"]) > SILENCE


@app.command()
def pause(
    table: TableArgument = None, job: JobOption = None, policy: PolicyOption = POLICY, models: ModelsOption = None
) -> None:
    """Ask running jobs to rest after the batch in hand; they keep their place, and no lock."""
    _wish(JobWish.PAUSE, table, job, policy, models)


@app.command()
def resume(
    table: TableArgument = None, job: JobOption = None, policy: PolicyOption = POLICY, models: ModelsOption = None
) -> None:
    """Let paused jobs go on."""
    _wish(JobWish.RUN, table, job, policy, models)


@app.command()
def stop(
    table: TableArgument = None, job: JobOption = None, policy: PolicyOption = POLICY, models: ModelsOption = None
) -> None:
    """Ask running jobs to end after the batch in hand; the same command that began one goes on with it later."""
    _wish(JobWish.STOP, table, job, policy, models)


@app.command()
def failed(
    table: TableArgument = None, policy: PolicyOption = POLICY, models: ModelsOption = None, as_json: JsonOption = False
) -> None:
    """List the rows that jobs left as they are: table, primary key, column and reason; never a value."""
    with open_database(policy, models) as engine, engine.connect() as connection:
        rows = listed(connection, table)
    for row in rows:
        if as_json:
            typer.echo(json.dumps({name: row[name] for name in row if name not in {"row_digest", "mark"}}))
        else:
            _say(f"{row['job']} {row['table_name']} {row['row_key']} {row['column_name']}: {row['reason']}")
    if not rows and not as_json:
        _say("no row is listed")


def _wish(wish: JobWish, table: str | None, job: str | None, policy: Any, models: str | None) -> None:
    with open_database(policy, models) as engine:
        store = JobStore(engine)
        names = [
            JobName(row["job"], row["table_name"], row["part"])
            for row in store.all()
            if is_held(row["state"]) and table in {None, row["table_name"]} and job in {None, *_kinds(row)}
        ]
        if not names:
            raise JobError(
                f"no such job runs now: see `noisevault jobs list`{'' if table is None else f' for {table}'}"
            )
        for name in names:
            store.wish(name, wish)
            _say(f"{name.job} {name.table}: asked to {wish.value}")


def _kinds(row: Any) -> tuple[str, str]:
    """What a job may be called: its name, and without the column of a field that migrates."""
    name = str(row["job"])
    return name, name.partition(" ")[0]


def _say(line: str) -> None:
    Console().print(line, markup=False, highlight=False, soft_wrap=True)
