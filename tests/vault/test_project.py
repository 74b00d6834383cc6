from pathlib import Path

import pytest
from sqlalchemy import text

from kms import KeyringError, ProviderSettings
from tests.vault.projects import make_project, write_policy
from vault.errors import PolicyError
from vault.policy import Policy
from vault.project import Project, policy_beside


def test_what_was_created_opens_again_with_the_same_keys(tmp_path: Path) -> None:
    created = make_project(tmp_path)
    opened = Project.open(created.policy, ProviderSettings())
    opened.require_tables()
    assert opened.active_data_key_id == created.active_data_key_id
    assert set(opened.fields(opened.table("visit"))) == {"national_id", "diagnosis", "spending"}


def test_creating_twice_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    created = make_project(tmp_path)
    with pytest.raises(KeyringError):
        Project.create(created.policy, ProviderSettings())
    assert Project.open(created.policy, ProviderSettings()).active_data_key_id == created.active_data_key_id


def test_a_table_that_is_missing_in_the_database_or_the_policy_is_named(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    with pytest.raises(PolicyError, match="visit"):
        project.table("nobody")
    with project.engine.begin() as connection:
        connection.execute(text("DROP TABLE visit"))
    with pytest.raises(PolicyError, match=r"visit.*noisevault init"):
        project.require_tables()


def test_keys_records_and_ledger_are_three_files(tmp_path: Path) -> None:
    make_project(tmp_path)
    assert (tmp_path / "keys.db").exists()
    assert (tmp_path / "application.db").exists()


def test_without_a_policy_file_one_is_told_how_to_begin(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="noisevault init --example"):
        policy_beside(tmp_path / "noisevault.toml")
    assert isinstance(policy_beside(write_policy(tmp_path)), Policy)
