from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from kms import KeyringError, ProviderSettings
from kms.errors import SchemaVersionError
from tests.open_files import open_files
from tests.vault.projects import make_project, visit, write_policy
from vault.errors import DefinitionChangedError, PolicyError
from vault.policy import Policy
from vault.project import Project, has_keyring, policy_beside, require_files


def test_what_was_created_opens_again_with_the_same_keys(tmp_path: Path) -> None:
    created = make_project(tmp_path)
    opened = Project.open(created.policy, ProviderSettings())
    opened.require_tables()
    assert opened.active_data_key_id == created.active_data_key_id
    assert set(opened.fields(opened.table("visit"))) == {"national_id", "diagnosis", "spending"}


def test_creating_again_leaves_the_keys_as_they_are(tmp_path: Path) -> None:
    created = make_project(tmp_path)
    again = Project.create(created.policy, ProviderSettings())
    assert again.active_data_key_id == created.active_data_key_id


def test_a_field_that_is_defined_otherwise_than_its_data_stops_the_start(tmp_path: Path) -> None:
    created = make_project(tmp_path)
    path = tmp_path / "noisevault.toml"
    path.write_text(path.read_text().replace('diagnosis = { type = "str"', 'diagnosis = { type = "bytes"'))
    with pytest.raises(DefinitionChangedError, match=r"visit\.diagnosis"):
        Project.open(Policy.load(path), ProviderSettings())
    assert Project.open(created.policy, ProviderSettings()).active_data_key_id == created.active_data_key_id


def test_a_closed_project_has_no_file_open(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    project.require_tables()
    assert open_files(tmp_path) >= {"keys.db", "application.db"}
    project.close()
    assert open_files(tmp_path) == set()
    with pytest.raises(KeyringError, match="closed"):
        project.opened.keyring.warm()


def test_a_project_that_cannot_be_opened_or_made_leaves_no_file_open(tmp_path: Path) -> None:
    created = make_project(tmp_path)
    with created.engine.begin() as connection:
        connection.execute(created.table("visit").insert(), [visit(1)])
    created.close()
    policy = tmp_path / "noisevault.toml"
    other = Policy.load(policy).model_copy(deep=True)
    policy.write_text(policy.read_text().replace('diagnosis = { type = "str"', 'diagnosis = { type = "bytes"'))
    with pytest.raises(DefinitionChangedError) as otherwise:
        Project.open(Policy.load(policy), ProviderSettings())
    assert open_files(tmp_path) == set(), otherwise
    (tmp_path / "application.db").rename(tmp_path / "kept.db")
    (tmp_path / "application.db").mkdir()
    with pytest.raises(OperationalError) as no_table:
        Project.create(other, ProviderSettings())
    assert open_files(tmp_path) == set(), no_table
    (tmp_path / "application.db").rmdir()
    (tmp_path / "kept.db").rename(tmp_path / "application.db")
    (tmp_path / "keys.db").unlink()
    with pytest.raises(PolicyError, match="holds sealed values") as sealed:
        Project.create(other, ProviderSettings())
    assert open_files(tmp_path) == set(), sealed
    assert not has_keyring(other)
    with pytest.raises(SchemaVersionError) as no_keyring:
        Project.open(other, ProviderSettings())
    assert open_files(tmp_path) == set(), no_keyring


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


def test_a_file_that_is_gone_is_named_before_it_is_made_empty(tmp_path: Path) -> None:
    policy = make_project(tmp_path).policy
    (tmp_path / "keys.db").unlink()
    with pytest.raises(PolicyError, match=r"keys\.db.*backup"):
        require_files(policy)
    assert not (tmp_path / "keys.db").exists()


def test_without_a_policy_file_one_is_told_how_to_begin(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="noisevault init --example"):
        policy_beside(tmp_path / "noisevault.toml")
    assert isinstance(policy_beside(write_policy(tmp_path)), Policy)
