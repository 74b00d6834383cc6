"""import: a CSV file into a table, all of it or nothing."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from vault.cli.models import ModelsOption
from vault.cli.options import POLICY, PolicyOption, open_project
from vault.errors import PolicyError
from vault.files.csv_file import numbered_rows
from vault.files.load import load
from vault.project import Project
from vault.rows.tenant_rows import require_no_tenants


def import_file(
    file: Annotated[Path, typer.Argument(help="A CSV file with a header, UTF-8; .csv.gz too.", metavar="FILE")],
    table: Annotated[str | None, typer.Option(help="The table; not needed when the policy has one.")] = None,
    delimiter: Annotated[str, typer.Option(help="What stands between cells: , ; | or \\t.")] = ",",
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
) -> None:
    """Read a CSV file into a table: every row, or, when one row is wrong, none."""
    with open_project(policy, models) as project:
        name = table or only_table(project)
        require_no_tenants(project.table(name))
        columns, between = project.policy.table[name], delimiter.replace("\\t", "\t")
        with closing(numbered_rows(file, columns, delimiter=between)) as numbered:
            rows = load(project.engine, project.table(name), numbered)
        Console().print(f"{rows} rows sealed and stored in {name}", highlight=False)


def only_table(project: Project) -> str:
    if len(project.tables) != 1:
        raise PolicyError(f"say which table with --table; the policy names: {', '.join(project.tables)}")
    return next(iter(project.tables))
