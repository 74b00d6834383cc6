"""reencrypt: move every sealed value to the active key, with progress."""

from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from sqlalchemy import Table

from vault.cli.models import ModelsOption
from vault.cli.options import POLICY, PolicyOption, open_project
from vault.jobs.reencrypt import ROWS_A_BATCH, Reencryption, Report
from vault.jobs.reencrypt import Progress as Step
from vault.mapping.definitions import sealed_columns
from vault.project import Project
from vault.tenant_rows import tenant_column


def reencrypt_tables(
    table: Annotated[list[str] | None, typer.Argument(help="Tables; all of the policy when none is given.")] = None,
    rows_a_batch: Annotated[int, typer.Option(min=1, help="Rows read and written in one transaction.")] = ROWS_A_BATCH,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
) -> None:
    """Move every sealed value to the active key. May be stopped anywhere and started again; services go on."""
    with open_project(policy, models) as project:
        console = Console()
        tables = [project.table(name) for name in table or project.tables]
        reports = [
            reencrypt_with_progress(project, one, console, rows_a_batch)
            for one in tables
            if table or sealed_columns(one)
        ]
        for one in tables:
            column = tenant_column(one)
            if column is not None:
                console.print(
                    f"{one.name}: rows whose {column.name} is not {project.opened.keyring.name} are other tenants',"
                    " and are listed as not opening",
                    highlight=False,
                    markup=False,
                    soft_wrap=True,
                )
        for report in reports:
            console.print(in_one_line(report, project.active_data_key_id), highlight=False, soft_wrap=True)
            for key in report.unreadable:
                console.print(f"  {report.table} {key}: does not open; left as it is", highlight=False, markup=False)
        for report in reports:
            report.require_complete()


def reencrypt_with_progress(project: Project, table: Table, console: Console, rows_a_batch: int) -> Report:
    """The job, with a bar where somebody looks: none in a file or a pipe."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rows"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(f"re-encrypting {table.name}", total=None)

        def show(step: Step) -> None:
            bar.update(task, completed=step.seen, total=step.total)

        return Reencryption(project.engine, table, project.fields(table), rows_a_batch).run(show)


def in_one_line(report: Report, key_id: str) -> str:
    return (
        f"{report.table}: {report.rewritten} rows rewritten, {report.changed_meanwhile} changed by others meanwhile,"
        f" {len(report.unreadable)} unreadable; {report.remaining} rows not under key {key_id}"
    )
