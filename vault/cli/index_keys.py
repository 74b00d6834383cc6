"""Index keys: in whose keyring the indexes of a command live, and which columns they are over."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace

from kms import Keyring, KeyStore
from vault.changeover.phase import Subject
from vault.cli.job_keys import job_keys
from vault.cli.options import former_settings, provider_settings
from vault.index.home import IndexHomes
from vault.jobs.reindexing.index_member import Member
from vault.jobs.reindexing.index_members import members_at_home, members_of
from vault.opened import OpenedVault
from vault.project import Project, leases_of, open_keks
from vault.tenants import TenantVaults

__all__ = ["IndexKeys", "index_keys"]


@dataclass(frozen=True, slots=True)
class IndexKeys:
    """project: opened by the keyring in which the indexes live. home: its name, where it is not the fields'.

    vaults: then the keyrings of all rows. shared: whether the tables have rows of other keyrings, which are left alone.
    """

    project: Project
    home: str | None = None
    vaults: TenantVaults | None = None
    shared: bool = False

    def members(self, subject: Subject) -> list[Member]:
        """Raises: SealedColumnError."""
        tables = self.project.tables.values()
        if self.home is None or self.vaults is None:
            return members_of(subject, tables, self.project.opened, shared=self.shared)
        return members_at_home(subject, tables, self.vaults, self.home)


@contextmanager
def index_keys(project: Project, tenant: str | None, keyring: str | None) -> Iterator[IndexKeys]:
    """tenant, keyring: as the options of reindex. What is opened is closed at the end; the project is not."""
    with ExitStack() as closed:
        vaults: TenantVaults | None = None
        if keyring is not None:
            table = next(iter(project.tables.values()))
            found = closed.enter_context(job_keys(project, table, tenants=True))
            assert isinstance(found, TenantVaults)  # noqa: S101  # as asked for
            vaults = found
        if tenant is not None or keyring is not None:
            project = replace(project, opened=closed.enter_context(_under(project, str(tenant or keyring))))
        yield IndexKeys(project, keyring, vaults, tenant is not None)


@contextmanager
def _under(project: Project, name: str) -> Iterator[OpenedVault]:
    """That keyring of the project's key store, under the same key-encryption keys."""
    policy = project.policy
    keks = open_keks(policy, provider_settings(policy.vault.kek), former_settings(policy))
    with ExitStack() as undone:
        store = undone.enter_context(closing(KeyStore.from_url(policy.keys_url)))  # which closing the vault closes

        def opened(keyring: str) -> Keyring:
            return Keyring.open(store, keks, keyring, leases=leases_of(policy))

        with closing(OpenedVault(opened(name), store, IndexHomes(opened))) as vault:
            yield vault
