"""What is told where a table, a keyring or the whole key store is not there."""

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.vault.cli.conftest import Run
from tests.vault.restoration.copies import kinds, looked


def test_a_key_store_without_a_table(loaded: Run, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "keys.db")) as keys, keys:
        for (table,) in keys.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            keys.execute(f"DROP TABLE {table}")
    report = looked(loaded)
    assert {"keyring is lacking", "unknown key", "ledger key"} <= kinds(report)
    assert {key["state"] for key in report["keys"]} == {"unknown"}


def test_a_keyring_of_another_name(loaded: Run, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "keys.db")) as keys, keys:
        keys.execute("UPDATE noisevault_keyring SET name = 'other'")
    report = looked(loaded)
    assert kinds(report) == {"keyring is lacking"}
    assert {key["keyring"] for key in report["keys"]} == {"other"}


def test_a_table_that_the_dump_did_not_have(loaded: Run, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "application.db")) as data, data:
        data.execute("DROP TABLE visit")
    assert kinds(looked(loaded)) == {"table or column is lacking"}
