"""Job keys: whose keyrings a job of a project takes: the policy's one, or each tenant's."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from sqlalchemy import Table

from kms import Keyring, KeyStore
from vault.cli.options import former_settings, provider_settings
from vault.mapping.definitions import sealed_columns
from vault.mapping.sealed_column import Declaration
from vault.opened import OpenedVault
from vault.project import Project, leases_of, open_keks
from vault.tenants import TenantVaults

__all__ = ["job_keys", "names_tenant"]


@contextmanager
def job_keys(project: Project, table: Table, *, tenants: bool) -> Iterator[OpenedVault | TenantVaults]:
    """The keyrings of all tenants where one is asked for them, or a field of the table takes its tenant from the row.

    Those of tenants are closed at the end; the policy's is the project's. Raises: KmsError, PolicyError.
    """
    if not tenants and not any(names_tenant(column.type) for column in sealed_columns(table)):
        yield project.opened
        return
    keks = open_keks(project.policy, provider_settings(project.policy.vault.kek), former_settings(project.policy))
    store = KeyStore.from_url(project.policy.keys_url)  # of its own, which closing them closes
    leases = leases_of(project.policy)
    with closing(TenantVaults(store, lambda name: Keyring.open(store, keks, name, leases=leases))) as vaults:
        yield vaults


def names_tenant(kind: object) -> bool:
    """Whether a column's type says that its field takes its tenant from the row."""
    return isinstance(kind, Declaration) and kind.tenant is not None
