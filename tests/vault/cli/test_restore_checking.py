"""restore-check, as an operator types it after a database was put back."""

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.vault.cli.conftest import Run
from tests.vault.restoration.copies import add, copy_of, looked, put_back


def test_a_whole_project_is_well_and_is_left_as_it_is(loaded: Run, tmp_path: Path) -> None:
    report = looked(loaded, status=0)
    assert (report["well"], report["findings"], report["steps"]) == (True, [], [])
    assert {key["state"] for key in report["keys"]} == {"active"}
    before = {name: [*_dump(tmp_path / name)] for name in ("application.db", "keys.db", "ledger.db")}
    told = loaded("restore-check")
    assert told.status == 0
    assert "all is well: 3 keys that 4 rows and the ledger need live" in told.out
    assert before == {name: [*_dump(tmp_path / name)] for name in before}


def _dump(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as database:
        return list(database.iterdump())


def test_a_check_that_finds_something_changes_nothing_either(loaded: Run, tmp_path: Path) -> None:
    """Any other command would record the field anew at its start, and pin its slot to another key."""
    with closing(sqlite3.connect(tmp_path / "keys.db")) as keys, keys:
        keys.execute("DELETE FROM noisevault_field")
        keys.execute("DELETE FROM noisevault_index_slot")
    before = {name: _dump(tmp_path / name) for name in ("application.db", "keys.db", "ledger.db")}
    looked(loaded)
    assert before == {name: _dump(tmp_path / name) for name in before}


def test_it_is_told_in_words_and_no_value_is(loaded: Run, tmp_path: Path) -> None:
    copy_of(tmp_path, "keys.db", "keys.copy")
    assert loaded("rotate").status == 0
    assert add(loaded, tmp_path, 7).status == 0
    put_back(tmp_path, "keys.db", "keys.copy")
    told = loaded("restore-check")
    assert (told.status, told.err) == (3, "")
    assert "What to do, in this order:\n1. Stop every process that writes" in told.out
    assert "flu" not in told.out
    assert "44-7" not in told.out


def test_a_file_that_is_no_head_and_a_database_that_is_gone_are_refused(loaded: Run, tmp_path: Path) -> None:
    (tmp_path / "head.json").write_text("{}", encoding="utf-8")
    refused = loaded("restore-check", "--audit-head", "head.json")
    assert (refused.status, refused.out) == (1, "")
    assert "is no audit head" in refused.err
    (tmp_path / "keys.db").unlink()
    gone = loaded("restore-check")
    assert (gone.status, "bring it back from a backup" in gone.err) == (1, True)
