"""In whose keyring the indexes of a command live."""

from pathlib import Path

import pytest

from kms import KmsError
from tests.vault.cli.conftest import Run
from vault.changeover.phase import Subject
from vault.cli.index_keys import index_keys
from vault.cli.options import open_project

SUBJECT = Subject("visit", "national_id", "bidx")


def test_by_default_in_the_project_s(loaded: Run, tmp_path: Path) -> None:
    with open_project(tmp_path / "noisevault.toml") as project, index_keys(project, None, None) as keys:
        assert keys.project is project
        assert (keys.home, keys.vaults, keys.shared) == (None, None, False)
        assert [member.columns for member in keys.members(SUBJECT)] == [("national_id",)]


def test_of_a_tenant_in_its_own_which_is_closed_at_the_end(loaded: Run, tmp_path: Path) -> None:
    with open_project(tmp_path / "noisevault.toml") as project:
        with index_keys(project, "main", None) as keys:
            assert keys.project.opened is not project.opened
            assert keys.shared
            assert keys.members(SUBJECT)[0].owner is keys.project.opened.keyring
        with pytest.raises(KmsError), index_keys(project, "nobody", None):
            pass
        project.opened.keyring.records()
