"""keys check --backup: which key-encryption keys a copy of the key store needs."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.vault.cli.conftest import Run
from tests.vault.cli.test_moving import edit


def backup(folder: Path) -> Path:
    with closing(sqlite3.connect(folder / "keys.db")) as live, closing(sqlite3.connect(folder / "copy.db")) as copy:
        live.backup(copy)
    return folder / "copy.db"


def test_a_backup_of_today_unwraps_and_is_left_as_it_is(loaded: Run, tmp_path: Path) -> None:
    copy, (key, *_) = backup(tmp_path), json.loads(loaded("keys", "list", "--json").out)
    before = copy.read_bytes()
    checked = loaded("keys", "check", "--backup", "copy.db")
    assert checked.status == 0, checked.err
    assert checked.out == (
        f"{key['kek']}, version 1: 3 keys in the backup, 3 in the store\n"
        f"keep {key['kek']} from version 1 on, for this backup and the store: trim nothing at or above it\n"
        "all 3 keys of the backup that were asked for unwrap\n"
    )
    assert copy.read_bytes() == before
    assert not list(tmp_path.glob("copy.db-*"))


def test_keys_that_do_not_unwrap_by_now_are_named(loaded: Run, tmp_path: Path) -> None:
    copy = backup(tmp_path)
    (key, *_) = json.loads(loaded("keys", "list", "--json").out)
    loaded("keys", "new-file", "new")
    edit(tmp_path, 'kek = "local:kek"', 'kek = "local:kek"\nkek_former = ["local:new"]')
    loaded("keys", "move", "--to", "local:new")
    edit(tmp_path, 'kek = "local:kek"\nkek_former = ["local:new"]', 'kek = "local:new"')
    assert loaded("keys", "check").status == 0
    checked = loaded("keys", "check", "--backup", str(copy))
    assert checked.status == 1
    assert checked.out.count("wrong: key ") == 3
    assert f"does not unwrap: wrapped by {key['kek']}, which is none of the key-encryption keys" in checked.out
    edit(tmp_path, 'kek = "local:new"', 'kek = "local:new"\nkek_former = ["local:kek"]')
    assert loaded("keys", "check", "--backup", str(copy)).status == 0


def test_a_key_that_was_destroyed_since_is_told(loaded: Run, tmp_path: Path) -> None:
    copy = backup(tmp_path)
    loaded("keys", "shred", "--confirm", "main")
    checked = loaded("keys", "check", "--backup", str(copy))
    assert checked.status == 0
    assert checked.out.count("is destroyed since: would come back") == 3


def test_a_backup_of_another_store_is_told(loaded: Run, tmp_path: Path) -> None:
    shutil.copy(backup(tmp_path), tmp_path / "other.db")
    with closing(sqlite3.connect(tmp_path / "other.db")) as other, other:
        other.execute("DELETE FROM noisevault_key")
        other.execute("DELETE FROM noisevault_keyring")
    checked = loaded("keys", "check", "--backup", "other.db")
    assert checked.status == 1
    assert "the backup has no keyring main" in checked.out
    refused = loaded("keys", "check", "--backup", "none.db")
    assert (refused.status, refused.out, refused.err.count("\n")) == (1, "", 1)
