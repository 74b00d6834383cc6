from pathlib import Path

from sqlalchemy import Column, Integer, MetaData, String, Table, Text

from tests.vault.projects import make_project
from vault.cli.job_keys import job_keys
from vault.mapping import Sealed
from vault.tenants import TenantVaults

NAMES_TENANT = Table(
    "letter",
    MetaData(),
    Column("id", Integer, primary_key=True),
    Column("tenant_id", String(20)),
    Column("body", Sealed(Text, tenant="tenant_id")),
)


def test_the_policy_s_keyring_serves_unless_rows_name_tenants_or_one_asks_for_them(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    visit = project.table("visit")
    assert job_keys(project, visit, tenants=False) is project.opened
    for table, asked in ((NAMES_TENANT, False), (visit, True)):
        vaults = job_keys(project, table, tenants=asked)
        assert isinstance(vaults, TenantVaults)
        assert vaults.vault("main").keyring.id == project.opened.keyring.id
        vaults.close()
    project.engine.dispose()
