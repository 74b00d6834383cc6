"""Recipes: how a worker process opens what a command has opened, and makes the work of the command's job.

What travels is which policy, table and options; each worker reads the policy file, its own environment and the key
service by itself. What a work is made of is imported by the recipe of that work when a worker opens it.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from vault.changeover.phase import Subject
from vault.cli.job_keys import job_keys
from vault.cli.options import open_project
from vault.jobs.workers.kept_open import KeptOpen
from vault.jobs.workers.recipe import Given, Supply
from vault.project import Project

if TYPE_CHECKING:
    from vault.jobs.verifying.verify import Verify
    from vault.jobs.work import Work

__all__ = ["CommandPlace", "MigrationRecipe", "ReencryptRecipe", "ReindexRecipe", "VerifyRecipe"]


@dataclass(frozen=True, slots=True)
class CommandPlace:
    """policy: path of the file, absolute. models: as --models. registered: as Project.open."""

    policy: str
    models: str | None = None
    registered: bool = True

    @classmethod
    def of(cls, policy: Path, models: str | None, *, registered: bool = True) -> "CommandPlace":
        return cls(str(policy.absolute()), models, registered)

    def project(self, kept: KeptOpen) -> Project:
        """Opened once a session."""
        return kept.get(self, self._open)

    def _open(self) -> AbstractContextManager[Project]:
        return open_project(Path(self.policy), self.models, registered=self.registered)


@dataclass(frozen=True, slots=True)
class ReencryptRecipe:
    """tenants: as --tenants. Satisfies Recipe."""

    place: CommandPlace
    table: str
    tenants: bool = False

    @contextmanager
    def open(self, kept: KeptOpen) -> Iterator[Supply]:
        from vault.jobs.reencrypt import Reencrypt

        project = self.place.project(kept)
        table, lease = project.table(self.table), project.policy.vault.sealing_lease
        with job_keys(project, table, tenants=self.tenants) as keys:
            yield Supply.of_work(project.engine, lambda: Reencrypt.of(table, keys, lease=lease))


@dataclass(frozen=True, slots=True)
class MigrationRecipe:
    """column: the sealed one. job: backfill, restore or clear. proving: as TwoColumns.goal.

    Satisfies Recipe.
    """

    place: CommandPlace
    table: str
    column: str
    job: str
    proving: str

    @contextmanager
    def open(self, kept: KeptOpen) -> Iterator[Supply]:
        from vault.jobs.migrating.works import WORKS

        project = self.place.project(kept)
        column, kind = project.table(self.table).c[self.column], WORKS[self.job]
        yield Supply.of_work(project.engine, lambda: kind(column, project.opened, proving=self.proving))


@dataclass(frozen=True, slots=True)
class ReindexRecipe:
    """tenant, keyring: as the options of reindex. empties: whether the slot is to be emptied. Satisfies Recipe."""

    place: CommandPlace
    tenant: str | None
    keyring: str | None
    subject: Subject
    table: str
    slot: str
    empties: bool

    @contextmanager
    def open(self, kept: KeptOpen) -> Iterator[Supply]:
        from vault.changeover.store import ChangeoverStore
        from vault.cli.index_keys import index_keys
        from vault.jobs.reindexing.index_work import emptying, filling, require_left

        project = self.place.project(kept)
        with index_keys(project, self.tenant, self.keyring) as keys:
            opened = keys.project.opened
            ask_anew, lease = opened.keyring.beside.end, project.policy.vault.sealing_lease
            changeovers = ChangeoverStore(opened.key_store, opened.keyring.id, timedelta(seconds=lease))

            def made() -> "Work":
                ask_anew()
                members = [one for one in keys.members(self.subject) if one.table.fullname == self.table]
                if not self.empties:
                    return filling(members, self.slot, ask_anew)
                return emptying(members, self.slot, lambda: require_left(changeovers, self.subject, self.slot))

            yield Supply.of_work(project.engine, made)


@dataclass(frozen=True, slots=True)
class VerifyRecipe:
    """tenants, skip_slow: as the options of verify. Satisfies Recipe."""

    place: CommandPlace
    table: str
    tenants: bool
    skip_slow: bool

    @contextmanager
    def open(self, kept: KeptOpen) -> Iterator[Supply]:
        from vault.jobs.verifying.row_check import RowCheck
        from vault.jobs.verifying.verify import Verify

        project = self.place.project(kept)
        table = project.table(self.table)
        with job_keys(project, table, tenants=self.tenants) as keys:

            def verify(given: Given) -> "Verify":
                check = RowCheck(table, keys, skip_slow=self.skip_slow)
                return Verify(
                    check, project.engine, given.settings, given.notify, given.stop, key_range=given.key_range
                )

            yield Supply(project.engine, verify)
