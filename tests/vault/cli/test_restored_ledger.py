"""A ledger that was put back: its head, its keys and its counts."""

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.vault.cli.conftest import Run
from tests.vault.restoration.copies import copy_of, kinds, looked, put_back


def test_a_ledger_that_went_back_is_told_by_the_head_that_was_kept(loaded: Run, tmp_path: Path) -> None:
    copy_of(tmp_path, "ledger.db", "ledger.copy")
    assert loaded("ask", "count()", "--epsilon", "0.5").status == 0
    assert loaded("audit", "head", "head.json").status == 0
    assert looked(loaded, "--audit-head", "head.json", status=0)["well"]
    put_back(tmp_path, "ledger.db", "ledger.copy")
    assert "not compared" in loaded("restore-check").out, "by itself it looks whole"
    assert kinds(looked(loaded, "--audit-head", "head.json")) == {"audit head went back"}
    refused = loaded("audit", "head", "head.json")
    assert (refused.status, "checkpoint" in refused.err) == (1, True), "a head that shows the loss is kept"
    for part in range(2):  # written on past the head that was kept
        assert loaded("ask", "count() where site = " + str(part + 1), "--epsilon", "0.1").status == 0
    assert kinds(looked(loaded, "--audit-head", "head.json")) == {"another audit log"}


def test_a_ledger_key_that_is_gone_and_a_counter_that_went_back(loaded: Run, tmp_path: Path) -> None:
    copy_of(tmp_path, "keys.db", "keys.copy")
    assert loaded("ask", "count()", "--epsilon", "0.1").status == 0
    put_back(tmp_path, "keys.db", "keys.copy")
    assert kinds(looked(loaded)) == {"ledger seal counter went back"}
    assert loaded("rotate", "--purpose", "ledger").status == 0
    assert not kinds(looked(loaded, status=0)), "the key of that counter seals no more"
    assert loaded("ask", "count() where site = 1", "--epsilon", "0.1").status == 0
    put_back(tmp_path, "keys.db", "keys.copy")
    report = looked(loaded)
    assert kinds(report) == {"ledger seal counter went back", "ledger key", "audit log is not whole"}
    # Charge, answer, the question's text and the answer's; and the four entries that the rotation told.
    assert sum(one["count"] for one in report["findings"] if one["kind"] == "ledger key") == 8


def test_a_ledger_without_tables_is_lacking(loaded: Run, tmp_path: Path) -> None:
    (tmp_path / "ledger.db").unlink()
    for leftover in tmp_path.glob("ledger.db-*"):
        leftover.unlink()
    (tmp_path / "ledger.db").touch()
    assert kinds(looked(loaded)) == {"ledger is lacking"}


def test_a_budget_that_was_changed_is_told(loaded: Run, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as ledger, ledger:
        ledger.execute("UPDATE noisevault_budget SET spent_nano_epsilon = 1")
    assert kinds(looked(loaded)) == {"audit log is not whole"}
