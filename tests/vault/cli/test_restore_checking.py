"""restore-check, as an operator types it after a database was put back."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.vault.cli.conftest import Ended, Run
from tests.vault.cli.test_migrating import moving, to

__all__ = ["moving"]

MORE = "person,year,site,national_id,diagnosis,spending\n{0},1,1,44-{0},flu,5\n"


def copy_of(folder: Path, name: str, to: str) -> None:
    with closing(sqlite3.connect(folder / name)) as live, closing(sqlite3.connect(folder / to)) as copy:
        live.backup(copy)


def put_back(folder: Path, name: str, of: str) -> None:
    for leftover in folder.glob(f"{name}-*"):
        leftover.unlink()
    shutil.copy(folder / of, folder / name)


def looked(run: Run, *words: str, status: int = 3) -> Any:
    ended = run("restore-check", "--json", *words)
    assert ended.status == status, ended.out + ended.err
    return json.loads(ended.out)


def kinds(report: Any) -> set[str]:
    return {one["kind"] for one in report["findings"]}


def add(run: Run, folder: Path, person: int) -> Ended:
    (folder / "more.csv").write_text(MORE.format(person), encoding="utf-8")
    return run("import", "more.csv")


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


def keys_of(run: Run, purpose: str = "data") -> list[dict[str, Any]]:
    return [key for key in json.loads(run("keys", "list", "--json").out) if key["purpose"] == purpose]


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


def test_a_lost_row_of_a_key_and_a_lost_keyring(loaded: Run, tmp_path: Path) -> None:
    assert loaded("rotate", "--purpose", "ledger").status == 0
    with closing(sqlite3.connect(tmp_path / "keys.db")) as keys, keys:
        keys.execute("DELETE FROM noisevault_key WHERE purpose = 'ledger' AND sequence = 1")
    assert "key row is lacking" in kinds(looked(loaded))
    with closing(sqlite3.connect(tmp_path / "keys.db")) as keys, keys:
        for (table,) in keys.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            keys.execute(f"DROP TABLE {table}")
    report = looked(loaded)
    assert {"keyring is lacking", "unknown key", "ledger key"} <= kinds(report)
    assert "noisevault init" not in report["steps"][0]


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


def test_a_ledger_that_went_back_is_told_by_the_head_that_was_kept(loaded: Run, tmp_path: Path) -> None:
    copy_of(tmp_path, "ledger.db", "ledger.copy")
    assert loaded("ask", "count()", "--epsilon", "0.5").status == 0
    assert loaded("audit-head", "head.json").status == 0
    assert looked(loaded, "--audit-head", "head.json", status=0)["well"]
    put_back(tmp_path, "ledger.db", "ledger.copy")
    assert "not compared" in loaded("restore-check").out, "by itself it looks whole"
    assert kinds(looked(loaded, "--audit-head", "head.json")) == {"audit head went back"}
    refused = loaded("audit-head", "head.json")
    assert (refused.status, "checkpoint" in refused.err) == (1, True), "a head that shows the loss is kept"
    for part in range(2):  # written on past the head that was kept
        assert loaded("ask", "count() where site = " + str(part + 1), "--epsilon", "0.1").status == 0
    assert kinds(looked(loaded, "--audit-head", "head.json")) == {"another audit log"}


def test_a_key_encryption_key_that_is_lost(loaded: Run, tmp_path: Path) -> None:
    (tmp_path / "kek").rename(tmp_path / "away")
    assert kinds(looked(loaded)) == {"key service does not answer"}
    (tmp_path / "away").rename(tmp_path / "kept")
    assert loaded("keys", "new-file", "kek").status == 0
    report = looked(loaded)
    assert kinds(report) == {"key does not unwrap", "audit log is not whole"}
    assert sum(one["kind"] == "key does not unwrap" for one in report["findings"]) == 3


def test_a_table_that_the_dump_did_not_have(loaded: Run, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "application.db")) as data, data:
        data.execute("DROP TABLE visit")
    assert kinds(looked(loaded)) == {"table or column is lacking"}


def test_a_file_that_is_no_head_and_a_database_that_is_gone_are_refused(loaded: Run, tmp_path: Path) -> None:
    (tmp_path / "head.json").write_text("{}", encoding="utf-8")
    refused = loaded("restore-check", "--audit-head", "head.json")
    assert (refused.status, refused.out) == (1, "")
    assert "is no audit head" in refused.err
    (tmp_path / "keys.db").unlink()
    gone = loaded("restore-check")
    assert (gone.status, "bring it back from a backup" in gone.err) == (1, True)


FIELD = "client.mail_sealed"
KEYS = "application.keys.db"


@pytest.fixture
def client(moving: Run, tmp_path: Path) -> Run:
    """A migrating field in mode dual-read-plaintext, its copies from before the backfill, and the backfill proved."""
    assert to(moving, "dual-read-plaintext").status == 0
    copy_of(tmp_path, "application.db", "data.copy")
    copy_of(tmp_path, KEYS, "keys.copy")
    assert "proved" in moving("backfill", FIELD, "--after-lease").out
    assert looked(moving, status=0)["well"]
    return moving


def sealed_only(run: Run) -> None:
    assert to(run, "dual-read-sealed").status == 0
    assert to(run, "sealed-only").status == 0
    assert "refuses new ones" in run("clear", FIELD, "--after-lease").out


def test_a_mode_that_went_back_is_told_and_set_right_without_a_value_lost(client: Run, tmp_path: Path) -> None:
    sealed_only(client)
    assert looked(client, status=0)["well"]
    put_back(tmp_path, KEYS, "keys.copy")
    report = looked(client)
    assert "mode went back" in kinds(report)
    assert any("run no noisevault backfill" in step and "2 sealed values" in step for step in report["steps"])
    by_sql(tmp_path, MODE_BACK)
    assert "mode went back" not in kinds(looked(client))
    assert '"Ann@x"' in client("find", "mail_sealed", "ann@x", "--json").out


def test_a_mode_that_is_ahead_is_told_and_taken_back_without_a_value_lost(client: Run, tmp_path: Path) -> None:
    sealed_only(client)
    put_back(tmp_path, "application.db", "data.copy")
    report = looked(client)
    assert "mode is ahead" in kinds(report)
    assert any("run no noisevault restore" in step and "2 plaintexts" in step for step in report["steps"])
    assert to(client, "dual-read-sealed").status == 0
    by_sql(tmp_path, MODE_AHEAD)
    done = client("backfill", FIELD, "--after-lease")
    assert (done.status, "2 rows written" in done.out, "proved" in done.out) == (0, True, True), done.out + done.err
    assert looked(client, status=0)["well"]
    sealed_only(client)
    assert '"Ann@x"' in client("find", "mail_sealed", "ann@x", "--json").out


def test_a_proof_of_data_that_went_back_is_told_before_a_step_relies_on_it(client: Run, tmp_path: Path) -> None:
    put_back(tmp_path, "application.db", "data.copy")
    assert kinds(looked(client)) == {"proof does not hold"}
    assert "proved" in client("backfill", FIELD, "--after-lease").out
    assert looked(client, status=0)["well"]
    assert to(client, "dual-read-sealed").status == 0
    assert '"Ann@x"' in client("find", "mail_sealed", "ann@x", "--json").out


MODE_BACK = (
    "DELETE FROM noisevault_changeover WHERE table_name = 'client' AND column_name = 'mail_sealed' AND index_name = ''"
)
MODE_AHEAD = (
    "UPDATE noisevault_changeover SET phase = 2, came_from = 1"
    " WHERE table_name = 'client' AND column_name = 'mail_sealed' AND index_name = ''"
)


def by_sql(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / KEYS)) as keys, keys:
        assert keys.execute(statement).rowcount == 1
