import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.vault.cli.conftest import Run


def test_keys_list_shows_ids_and_states_and_never_a_key(loaded: Run) -> None:
    keys = json.loads(loaded("keys", "list", "--json").out)
    assert [(key["purpose"], key["state"]) for key in keys] == [
        ("data", "active"),
        ("index", "active"),
        ("ledger", "active"),
    ]
    assert set(keys[0]) == {"key_id", "purpose", "sequence", "state", "created_at", "kek", "kek_version"}
    assert keys[0]["key_id"] in loaded("keys", "list").out


def test_keys_list_cuts_nothing_off_on_a_narrow_screen(loaded: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (key, *_) = json.loads(loaded("keys", "list", "--json").out)
    monkeypatch.setenv("COLUMNS", "60")
    shown = loaded("keys", "list").out
    assert key["key_id"] in shown
    assert "…" not in shown


def test_rotate_makes_a_new_key_active_and_old_values_still_open(loaded: Run) -> None:
    assert loaded("rotate").status == 0
    states = [key["state"] for key in json.loads(loaded("keys", "list", "--json").out) if key["purpose"] == "data"]
    assert states == ["deactivated", "active"]
    assert "asthma" in loaded("show").out


@pytest.mark.parametrize("kek", ["hcvault://[fe80::1]:8200/t/keys/k", "[/x]"])
def test_brackets_in_what_the_database_says_are_shown_as_they_are(loaded: Run, tmp_path: Path, kek: str) -> None:
    with closing(sqlite3.connect(tmp_path / "keys.db")) as keys, keys:
        keys.execute("UPDATE noisevault_key SET kek = ? WHERE purpose = 'index'", (kek,))
    assert kek in loaded("keys", "list").out
