"""Job keys: whose keyrings a job of a project takes: the policy's one, or each tenant's."""

from sqlalchemy import Table

from kms import Keyring
from vault.cli.options import former_settings, provider_settings
from vault.mapping.definitions import sealed_columns
from vault.mapping.sealed_column import Declaration
from vault.opened import OpenedVault
from vault.project import Project, open_keks
from vault.tenants import TenantVaults

__all__ = ["job_keys"]


def job_keys(project: Project, table: Table, *, tenants: bool) -> OpenedVault | TenantVaults:
    """The keyrings of all tenants where one is asked for them, or a field of the table takes its tenant from the row.

    Raises: KmsError, PolicyError.
    """
    if not tenants and not any(_names_tenant(column.type) for column in sealed_columns(table)):
        return project.opened
    store = project.opened.key_store
    keks = open_keks(project.policy, provider_settings(project.policy.vault.kek), former_settings(project.policy))
    return TenantVaults(store, lambda name: Keyring.open(store, keks, name))


def _names_tenant(kind: object) -> bool:
    return isinstance(kind, Declaration) and kind.tenant is not None
