import threading
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Column, Integer, MetaData, String, Table, Text

from kms import KeyringError, Purpose
from tests.open_files import open_files
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


def test_the_policy_s_keyring_serves_and_stays_open(tmp_path: Path) -> None:
    with closing(make_project(tmp_path)) as project:
        with job_keys(project, project.table("visit"), tenants=False) as keys:
            assert keys is project.opened
        assert project.active_data_key_id, "the project's own is not closed"


@pytest.mark.parametrize("by_row", [True, False])
def test_where_rows_name_tenants_or_one_asks_for_them_each_tenant_s_serves_and_is_closed(
    tmp_path: Path, by_row: bool
) -> None:
    with closing(make_project(tmp_path)) as project:
        before, threads = open_files(tmp_path), set(threading.enumerate())
        table = NAMES_TENANT if by_row else project.table("visit")
        with job_keys(project, table, tenants=not by_row) as vaults:
            assert isinstance(vaults, TenantVaults)
            keyring = vaults.vault("main").keyring
            assert keyring.id == project.opened.keyring.id
            keyring.warm()
            assert open_files(tmp_path) - before or set(threading.enumerate()) - threads, "something is there to close"
        with pytest.raises(KeyringError):
            keyring.sealing(Purpose.DATA)
        assert not open_files(tmp_path) - before
        assert project.opened.keyring.sealing(Purpose.DATA), "the project's own is not closed"
