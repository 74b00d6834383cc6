"""report: the page that a data-protection officer files of a quarter, from the audit log and the stores."""

import json
from datetime import UTC, datetime
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from vault.cli.key_measures import count_rows
from vault.cli.maintenance_context import MaintenanceContext, maintenance_records
from vault.cli.models import ModelsOption
from vault.cli.options import POLICY, PolicyOption, open_project
from vault.cli.report_states import report_of
from vault.errors import PolicyError
from vault.maintenance.text_file import write_text_file
from vault.reporting.html_form import in_html
from vault.reporting.json_form import in_json
from vault.reporting.markdown_form import in_markdown
from vault.reporting.quarter import Quarter
from vault.reporting.report import Report
from vault.reporting.sections import page_of

__all__ = ["Form", "report"]

NOT_WHOLE = 1


class Form(StrEnum):
    HTML = "html"
    MARKDOWN = "markdown"
    JSON = "json"


def report(
    quarter: Annotated[str, typer.Option(help="Three months of UTC, such as 2026Q3.")],
    form: Annotated[Form, typer.Option("--format", help="HTML is for printing, JSON for programs.")] = Form.HTML,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Written whole; else it is printed.")] = None,
    no_count: Annotated[
        bool, typer.Option("--no-count", help="Do not read the tables: rows of each key as they were counted last.")
    ] = False,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
) -> None:
    """Tell what a quarter spent, by whom, what it adds up to, and how keys and audit log are. No value is opened.

    Exit status: 0 written; 1 refused, or written and the audit log did not verify.
    """
    of = Quarter.parse(quarter)
    with open_project(policy, models) as project:
        now = datetime.now(UTC)
        if of > Quarter.of(now):
            raise PolicyError(f"{of} has not begun; ask for an earlier quarter")
        context = MaintenanceContext(project, maintenance_records(project), lambda _: None)
        if not no_count:
            count_rows(context)
        made = report_of(context, of, made_at=now, made_by=f"noisevault {version('noisevault')}")
    text = written(made, form)
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_text_file(out, text)
    if made.audit is not None and made.audit.fault:
        raise typer.Exit(NOT_WHOLE)


def written(made: Report, form: Form) -> str:
    match form:
        case Form.HTML:
            return in_html(page_of(made))
        case Form.MARKDOWN:
            return in_markdown(page_of(made))
        case Form.JSON:
            return json.dumps(in_json(made), indent=2) + "\n"
