"""Terms and generations that the key store does not explain, and how they are set right."""

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.vault.cli.conftest import Run
from tests.vault.restoration.copies import copy_of, kinds, looked, put_back


def test_an_index_that_moved_after_the_copy_of_the_data(loaded: Run, tmp_path: Path) -> None:
    copy_of(tmp_path, "application.db", "data.copy")
    _reindex(loaded)
    put_back(tmp_path, "application.db", "data.copy")
    report = looked(loaded)
    assert kinds(report) == {"terms of another slot", "terms are lacking"}
    assert loaded("find", "national_id", "11-1").status == 1, "the slot that is asked has no terms"
    _reindex(loaded)
    assert looked(loaded, status=0)["well"]
    assert loaded("find", "national_id", "11-1").status == 0


def test_an_index_that_moved_after_the_copy_of_the_key_store(loaded: Run, tmp_path: Path) -> None:
    copy_of(tmp_path, "keys.db", "keys.copy")
    _reindex(loaded)
    put_back(tmp_path, "keys.db", "keys.copy")
    report = looked(loaded)
    assert kinds(report) >= {"terms of another slot", "terms are lacking"}
    assert "unknown key" not in kinds(report), "terms are made again: nothing is lost"
    _reindex(loaded)
    assert looked(loaded, status=0)["well"]
    assert loaded("find", "national_id", "11-1").status == 0
    assert loaded("verify", "--anew").status == 0


def _reindex(run: Run) -> None:
    assert run("rotate", "--purpose", "index").status == 0
    done = run("reindex", "--all", "--wait", "--lease", "0.3")
    assert done.status == 0, done.out + done.err


def test_a_generation_that_the_key_store_forgot(loaded: Run, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "keys.db")) as keys, keys:
        keys.execute("DELETE FROM noisevault_field WHERE column_name = 'spending'")
    report = looked(loaded)
    assert [(one["kind"], one["count"]) for one in report["findings"]] == [("unknown generation", 4)]


def test_a_field_that_the_key_store_never_heard_of_is_found_again_in_the_order_that_is_told(
    loaded: Run, tmp_path: Path
) -> None:
    assert loaded("rotate", "--purpose", "index").status == 0
    with closing(sqlite3.connect(tmp_path / "keys.db")) as keys, keys:
        for table in ("noisevault_field", "noisevault_index_slot"):
            keys.execute(f"DELETE FROM {table} WHERE column_name = 'national_id'")
    report = looked(loaded)
    assert kinds(report) == {"unknown generation", "terms of another slot"}
    order = [next(at for at, step in enumerate(report["steps"]) if words in step) for words in (
        "records them again", "rotate --purpose index", "reindex --all --wait"
    )]  # fmt: skip
    assert order == sorted(order)
    assert loaded("init").status == 0
    assert loaded("find", "national_id", "11-1").status == 1
    _reindex(loaded)
    assert looked(loaded, status=0)["well"]
    assert loaded("find", "national_id", "11-1").status == 0


def test_a_proof_of_a_slot_that_went_back_is_told(loaded: Run, tmp_path: Path) -> None:
    assert loaded("rotate", "--purpose", "index").status == 0
    assert loaded("reindex", "--all", "--lease", "0.3").status == 3
    with closing(sqlite3.connect(tmp_path / "keys.db")) as keys, keys:
        keyring = keys.execute("SELECT DISTINCT keyring_id FROM noisevault_changeover").fetchone()[0]
        keys.execute("DELETE FROM noisevault_changeover_part")
        keys.execute(
            "INSERT INTO noisevault_changeover_part VALUES"
            " (?, 'visit', 'national_id', 'bidx', 'visit', 'national_id', 'b', ?, ?, NULL)",
            (keyring, *["2026-11-30T00:00:00.000000+00:00"] * 2),
        )
    with closing(sqlite3.connect(tmp_path / "application.db")) as data, data:
        data.execute("UPDATE visit SET national_id_bidx_b = NULL")
    report = looked(loaded)
    assert kinds(report) == {"proof does not hold"}
    assert any("reindex --all --abort" in step for step in report["steps"])
