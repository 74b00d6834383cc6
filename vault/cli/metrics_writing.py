"""metrics: the state of keys, maintenance and jobs, as Prometheus reads it, in a file."""

from pathlib import Path
from typing import Annotated

import typer

from vault.cli.key_measures import count_rows, write_metrics
from vault.cli.maintenance_context import MaintenanceContext, maintenance_records
from vault.cli.models import ModelsOption
from vault.cli.options import POLICY, PolicyOption, open_project

__all__ = ["metrics"]


def metrics(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Written whole, for node_exporter: NAME.prom.")],
    no_count: Annotated[
        bool, typer.Option("--no-count", help="Do not read the tables: rows of each key as they were counted last.")
    ] = False,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
) -> None:
    """Write metrics for Prometheus. Each table is read once, counted by the database; nothing is opened."""
    with open_project(policy, models) as project:
        context = MaintenanceContext(project, maintenance_records(project), lambda _: None)
        if not no_count:
            count_rows(context)
        write_metrics(context, file)
