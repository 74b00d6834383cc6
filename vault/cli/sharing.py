"""Sharing: the --workers and --dask of commands that run jobs: which other processes do the passes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from kms.providers.local import is_passphrase_protected
from vault.cli.options import PASSPHRASE_FILE, local_key_file
from vault.errors import PolicyError
from vault.jobs.shared_job import SharesPasses
from vault.jobs.workers.process_pool import ProcessPool
from vault.jobs.workers.recipe import Recipe
from vault.jobs.workers.shared_pass import SharedPass
from vault.jobs.workers.workers import Workers
from vault.project import Project

__all__ = ["DaskOption", "Sharing", "WorkersOption", "sharing"]

WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers", min=1, metavar="N", help="Processes that share the work; one a core where the table is large."
    ),
]
DaskOption = Annotated[
    str | None,
    typer.Option(
        "--dask", metavar="ADDRESS", help="Workers of a Dask cluster share the work, such as tls://host:8786."
    ),
]
# Ours, from scripts/bench workers: of fewer rows a pass saves less time than the other processes take to be there.
WORTH_IT: Final = 500_000


@dataclass(frozen=True, slots=True)
class Sharing:
    """workers: None where this process does all by itself. worth_it: rows from which they are asked."""

    workers: Workers | None = None
    worth_it: int = 0

    def of(self, recipe: Recipe) -> SharesPasses | None:
        """Who does the passes of a job; None: the job itself."""
        return None if self.workers is None else SharedPass(recipe, self.workers, self.worth_it)


@contextmanager
def sharing(project: Project, workers: int | None, dask: str | None) -> Iterator[Sharing]:
    """workers: None: as many as there are cores, where that is worth it. At the end the workers have ended.

    Raises: PolicyError where others cannot share the work.
    """
    reason = _why_alone(project)
    if dask is not None:
        if workers is not None:
            raise PolicyError("--dask takes the cluster's own workers: leave --workers out")
        if reason:
            raise PolicyError(reason)
        from vault.jobs.workers.dask_cluster import DaskCluster

        with DaskCluster(dask) as cluster:
            yield Sharing(cluster)
        return
    if workers is not None and workers > 1 and reason:
        raise PolicyError(reason)
    count = workers or (1 if reason else cores())
    if count == 1:
        yield Sharing()
        return
    with ProcessPool(count) as pool:
        yield Sharing(pool, 0 if workers else WORTH_IT)


def cores() -> int:
    """Those that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _why_alone(project: Project) -> str:
    """Why this process alone can do it; empty where others can."""
    if project.engine.dialect.name == "sqlite":
        return "SQLite has one writer, so one process does the work: leave --workers and --dask out"
    for kek in (project.policy.vault.kek, *project.policy.vault.kek_former):
        file = local_key_file(kek)
        if file is not None and not os.environ.get(PASSPHRASE_FILE) and is_passphrase_protected(file):
            return (
                f"workers cannot be asked for the passphrase of {file}: name a file that holds it by {PASSPHRASE_FILE}"
            )
    return ""
