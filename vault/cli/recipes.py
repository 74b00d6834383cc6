"""Recipes: how a worker process opens what a command has opened, and makes the work of the command's job.

What travels is which policy, table and options; each worker reads the policy file, its own environment and the key
service by itself.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from vault.cli.job_keys import job_keys
from vault.cli.options import open_project
from vault.jobs.reencrypt import Reencrypt
from vault.jobs.workers.kept_open import kept_open
from vault.jobs.workers.recipe import Supply
from vault.project import Project

__all__ = ["CommandPlace", "ReencryptRecipe"]


@dataclass(frozen=True, slots=True)
class CommandPlace:
    """policy: path of the file, absolute. models: as --models. registered: as Project.open."""

    policy: str
    models: str | None = None
    registered: bool = True

    @classmethod
    def of(cls, policy: Path, models: str | None, *, registered: bool = True) -> "CommandPlace":
        return cls(str(policy.absolute()), models, registered)

    def project(self) -> Project:
        """Opened once a process."""
        return kept_open().get(self, self._open)

    def _open(self) -> AbstractContextManager[Project]:
        return open_project(Path(self.policy), self.models, registered=self.registered)


@dataclass(frozen=True, slots=True)
class ReencryptRecipe:
    """tenants: as --tenants. Satisfies Recipe."""

    place: CommandPlace
    table: str
    tenants: bool = False

    @contextmanager
    def open(self) -> Iterator[Supply]:
        project = self.place.project()
        table, lease = project.table(self.table), project.policy.vault.sealing_lease
        with job_keys(project, table, tenants=self.tenants) as keys:
            yield Supply(project.engine, lambda: Reencrypt.of(table, keys, lease=lease))
