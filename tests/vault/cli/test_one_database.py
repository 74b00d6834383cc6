"""Where a keyring has several databases, no index moves and no field migrates: the others would miss rows."""

from pathlib import Path

import pytest

from tests.vault.cli.conftest import Run
from tests.vault.cli.test_key_databases import OTHER, two

__all__ = ["two"]


@pytest.mark.parametrize("words", [("reindex", "--all"), ("reindex", "visit.national_id")])
def test_an_index_moves_in_one_database(two: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    assert two("rotate", "--purpose", "index").status == 0
    refused = two(*words)
    assert refused.status == 1
    assert "an index moves in one database, and this keyring is used by several" in refused.err
    assert f"{tmp_path}/other/second.db" in refused.err
    assert two("reindex", "--all", "--status").status == 0
    assert two("reindex", "--all", "--abort").status == 0
    assert two(*words, "--only-here").status == 3  # waits for a lease


def test_a_database_that_was_forgotten_is_in_nobodys_way(two: Run, tmp_path: Path) -> None:
    assert two("rotate", "--purpose", "index").status == 0
    refused = two("reindex", "--all")
    name = refused.err.split("second.db on ")[1].split("(")[1].split(")")[0]
    assert two("keys", "forget-database", name, "--confirm", "main").status == 0
    assert two("reindex", "--all").status == 3
    assert two("reindex", "--all", "-p", OTHER).status == 1  # which is registered again, since it lives
