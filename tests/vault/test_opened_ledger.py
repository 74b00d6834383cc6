"""The ledger of a policy: opened with the keyring's keys, and left by a fork."""

import os
from pathlib import Path

import pytest
from sqlalchemy import text

from vault.opened_ledger import ledger_engine


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_no_child_inherits_the_open_file_of_the_ledger(tmp_path: Path) -> None:
    """It would hold none of the file's locks, and its charges could be lost."""
    engine = ledger_engine(f"sqlite:///{tmp_path / 'ledger.db'}")
    with engine.connect() as connection:
        connection.execute(text("PRAGMA journal_mode = WAL"))
        connection.execute(text("CREATE TABLE t (x INTEGER)"))
    assert (tmp_path / "ledger.db-shm").exists()
    if not (pid := os.fork()):
        os._exit(0)
    os.waitpid(pid, 0)
    assert not (tmp_path / "ledger.db-shm").exists()
