"""What happened to keys and in jobs is in the audit log, each once, and holds no value."""

import json
from pathlib import Path
from typing import Any

from dp.ledger.store.schema import LEDGER_VERSION
from tests.vault.cli.conftest import Run
from tests.vault.cli.test_audit_showing import shown
from tests.vault.cli.test_audit_verifying import changed
from tests.vault.cli.test_maintaining import tables


def events(run: Run) -> list[dict[str, Any]]:
    return shown(run, "--kind", "event", "--limit", "1000")


def whats(run: Run) -> list[str]:
    return [one["what"] for one in events(run)]


def test_keys_are_told_when_they_are_made_and_when_they_rotate(loaded: Run) -> None:
    before = whats(loaded)
    assert before.count("key made") == before.count("key active") == before.count("key wrapped") == 3
    assert loaded("rotate").status == 0
    new = whats(loaded)[len(before) :]
    assert sorted(new) == ["key active", "key deactivated", "key made", "key wrapped"]
    assert loaded("keys", "rewrap").status == 0
    assert whats(loaded)[len(before) :] == new
    assert loaded("audit", "verify").status == 0


def test_jobs_are_told_with_their_counts_and_no_value(loaded: Run, tmp_path: Path) -> None:
    assert loaded("rotate").status == 0
    before = len(whats(loaded))
    assert loaded("reencrypt", "--dry-run").status == 0
    assert len(whats(loaded)) == before
    assert loaded("reencrypt").status == 0
    begun, ended = events(loaded)[before:]
    assert (begun["what"], ended["what"]) == ("job begun", "job complete")
    assert ended["fields"]["rewritten"] == 4
    assert (ended["fields"]["table"], ended["fields"]["job"]) == ("visit", "reencrypt")
    text = json.dumps(events(loaded))
    assert not [value for value in ("asthma", "11-1", "gout", "10.5") if value in text]
    assert loaded("reencrypt").status == 0
    assert len(whats(loaded)) == before + 4


def test_where_the_ledger_is_away_the_key_changes_and_is_told_later(loaded: Run, tmp_path: Path) -> None:
    changed(tmp_path, "UPDATE noisevault_schema SET version = 99")
    ended = loaded("rotate")
    assert ended.status == 0
    assert "not in the audit log yet" in ended.err
    changed(tmp_path, f"UPDATE noisevault_schema SET version = {LEDGER_VERSION}")
    before = len(whats(loaded))
    assert loaded("audit", "export", "log.jsonl").status == 0
    assert len(whats(loaded)) == before + 4


def test_a_policy_without_datasets_has_no_audit_log(loaded: Run, tmp_path: Path) -> None:
    path = tmp_path / "noisevault.toml"
    path.write_text(path.read_text(encoding="utf-8").partition("[dataset.visits]")[0], encoding="utf-8")
    before = tables(tmp_path / "ledger.db")
    ended = loaded("rotate")
    assert (ended.status, ended.err) == (0, "")
    assert tables(tmp_path / "ledger.db") == before
