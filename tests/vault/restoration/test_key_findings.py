"""Keys that rows need, after the data or the key store was put back."""

import sqlite3
from contextlib import closing
from pathlib import Path

from kms import Purpose
from tests.vault.cli.conftest import Run
from tests.vault.restoration.copies import add, copy_of, keys_of, kinds, looked, put_back
from vault.cli.options import open_keys


def test_a_key_store_from_before_a_rotation_lacks_the_key(loaded: Run, tmp_path: Path) -> None:
    copy_of(tmp_path, "keys.db", "keys.copy")
    assert loaded("rotate").status == 0
    assert add(loaded, tmp_path, 7).status == 0
    lost = keys_of(loaded)[-1]["key_id"]
    put_back(tmp_path, "keys.db", "keys.copy")
    report = looked(loaded)
    found = [one for one in report["findings"] if one["kind"] == "unknown key"]
    assert [(one["key_id"], one["count"]) for one in found] == [(lost, 3)]
    (key,) = [key for key in report["keys"] if key["key_id"] == lost]
    assert (key["state"], key["lives"], key["rows"]) == ("unknown", False, 1)
    steps = report["steps"]
    order = [next(at for at, step in enumerate(steps) if words in step) for words in (
        "Stop every process", "later copy of it exists", "noisevault rotate --purpose data", f"has key {lost}", "verify"
    )]  # fmt: skip
    assert order == sorted(order)


def test_a_key_that_sealed_more_than_is_counted_is_told(loaded: Run, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "keys.db")) as keys, keys:
        keys.execute("UPDATE noisevault_seal_count SET counted = 2 WHERE label = 'visit.spending'")
    (found,) = looked(loaded)["findings"]
    assert (found["kind"], found["where"], found["count"]) == ("seal counter went back", "visit.spending", 2)
    assert "rotate --purpose data" in " ".join(looked(loaded)["steps"])


def test_a_retired_and_a_destroyed_key_that_older_data_need(loaded: Run, tmp_path: Path) -> None:
    copy_of(tmp_path, "application.db", "data.copy")
    old = keys_of(loaded)[0]["key_id"]
    assert loaded("rotate").status == 0
    assert loaded("reencrypt").status == 0
    _age(tmp_path)
    assert loaded("keys", "retire", old, "--confirm", "main", "--wait", "0d", "--short-wait").status == 0
    copy_of(tmp_path, "application.db", "data.now")
    put_back(tmp_path, "application.db", "data.copy")
    report = looked(loaded)
    assert kinds(report) == {"retired key"}
    assert f"noisevault keys restore {old}" in report["steps"]
    put_back(tmp_path, "application.db", "data.now")
    assert loaded("keys", "destroy", old, "--confirm", "main").status == 0
    put_back(tmp_path, "application.db", "data.copy")
    report = looked(loaded)
    assert kinds(report) == {"destroyed key"}
    assert report["findings"][0]["count"] == sum(use["count"] for use in report["keys"][-1]["uses"])
    assert any(step.startswith("Lost for good: ") for step in report["steps"])


def _age(folder: Path) -> None:
    """The sealing lease of the key that was deactivated is long over."""
    with closing(sqlite3.connect(folder / "keys.db")) as keys, keys:
        long_ago = "UPDATE noisevault_key SET changed_at = '2020-01-01T00:00:00.000000+00:00' WHERE state = "
        keys.execute(long_ago + "'deactivated'")


def test_a_key_that_the_store_holds_for_later_has_sealed_already(loaded: Run, tmp_path: Path) -> None:
    with open_keys(tmp_path / "noisevault.toml") as keyring:
        waiting = keyring.lifecycle.prepare(Purpose.DATA).key_id.hex()
    copy_of(tmp_path, "keys.db", "keys.copy")
    assert loaded("rotate").status == 0
    assert add(loaded, tmp_path, 7).status == 0
    put_back(tmp_path, "keys.db", "keys.copy")
    report = looked(loaded)
    assert {(one["kind"], one["key_id"]) for one in report["findings"]} == {
        ("key of later use", waiting), ("seal counter went back", waiting)
    }  # fmt: skip
    assert sum("rotate --purpose data" in step for step in report["steps"]) == 2
    assert loaded("rotate").status == 0
    assert loaded("rotate").status == 0
    assert keys_of(loaded)[-1]["key_id"] != waiting
    loaded("reencrypt")
    assert looked(loaded, status=0)["well"]


def test_a_key_whose_row_is_gone(loaded: Run, tmp_path: Path) -> None:
    assert loaded("rotate", "--purpose", "ledger").status == 0
    with closing(sqlite3.connect(tmp_path / "keys.db")) as keys, keys:
        keys.execute("DELETE FROM noisevault_key WHERE purpose = 'ledger' AND sequence = 1")
    assert "key row is lacking" in kinds(looked(loaded))
