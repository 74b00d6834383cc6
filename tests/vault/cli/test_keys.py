import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from kms.providers.local import create_key_file
from tests.vault.cli.conftest import Run


def test_keys_list_shows_ids_and_states_and_never_a_key(loaded: Run) -> None:
    keys = json.loads(loaded("keys", "list", "--json").out)
    assert [(key["purpose"], key["state"]) for key in keys] == [
        ("data", "active"),
        ("index", "active"),
        ("ledger", "active"),
    ]
    assert set(keys[0]) == {
        *("key_id", "purpose", "sequence", "state", "seals", "created_at", "kek", "kek_version"),
        *("changed_at", "destroy_after", "most_seals", "rotate", "kek_health"),
    }
    assert keys[0]["seals"] >= 3 * 256
    assert keys[0]["key_id"] in loaded("keys", "list").out


def test_keys_list_cuts_nothing_off_on_a_narrow_screen(loaded: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (key, *_) = json.loads(loaded("keys", "list", "--json").out)
    monkeypatch.setenv("COLUMNS", "60")
    shown = loaded("keys", "list").out
    assert key["key_id"] in shown
    assert "…" not in shown


def test_keys_list_has_a_line_a_key_at_80_columns_however_long_the_kek_is_called(
    loaded: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kek = "awskms://arn:aws:kms:eu-central-1:123456789012:key/4b6ff70e-e1ac-427c-b789-1d06aa49b464"
    loaded("rotate")
    with closing(sqlite3.connect(tmp_path / "keys.db")) as keys, keys:
        keys.execute("UPDATE noisevault_key SET kek = ? WHERE purpose = 'index'", (kek,))
    ids = [key["key_id"] for key in json.loads(loaded("keys", "list", "--json").out) if not key["seals"]]
    monkeypatch.setenv("COLUMNS", "80")
    lines = loaded("keys", "list").out.splitlines()
    heading = next(line for line in lines if line.split()[:1] == ["key_id"])
    assert heading.split() == ["key_id", "purpose", "sequence", "state", "age", "seals", "kek"]
    for key_id in ids:
        (line,) = (line for line in lines if key_id in line)
        assert line.split()[-1] == ("2" if "index" in line else "1")
        assert max(len(line), len(heading)) <= 80
    assert f"kek 2: {kek}, version 1" in lines


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


def test_keys_check_passes_when_every_live_key_unwraps(loaded: Run) -> None:
    loaded("rotate")
    checked = loaded("keys", "check")
    assert (checked.status, checked.out) == (0, "all 4 keys of keyring main unwrap\n")


def test_keys_check_names_what_does_not_unwrap_why_and_what_to_do(loaded: Run, tmp_path: Path) -> None:
    index = json.loads(loaded("keys", "list", "--json").out)[1]["key_id"]
    with closing(sqlite3.connect(tmp_path / "keys.db")) as keys, keys:
        keys.execute("UPDATE noisevault_key SET wrapped = zeroblob(60) WHERE purpose = 'index'")
    for words in (("keys", "check"), ("check",)):
        checked = loaded(*words)
        assert checked.status == 1
        assert f"wrong: key {index} (index 1) does not unwrap: a wrapped key does not authenticate" in checked.out
        assert "from a backup" in checked.out


def test_a_key_file_has_nothing_to_be_rewrapped_by(loaded: Run) -> None:
    done = loaded("keys", "rewrap")
    assert (done.status, done.out) == (0, "0 of 3 keys rewrapped\n")


def test_a_rewrap_under_another_key_file_is_refused_in_one_line(loaded: Run, tmp_path: Path) -> None:
    (tmp_path / "kek").unlink()
    create_key_file(tmp_path / "kek")
    refused = loaded("keys", "rewrap")
    assert (refused.status, refused.out, refused.err.count("\n")) == (1, "", 1)
    assert "3 of 3 keys are not rewrapped" in refused.err
    assert "give the right key file" in refused.err


@pytest.mark.parametrize("command", ["check", "rewrap"])
def test_keys_are_looked_after_while_the_database_of_the_data_is_out_of_order(
    loaded: Run, tmp_path: Path, command: str
) -> None:
    (tmp_path / "application.db").write_bytes(b"no database")
    assert loaded("check").status == 1
    done = loaded("keys", command)
    assert (done.status, done.err) == (0, "")
