import sqlite3
import stat
from contextlib import closing
from pathlib import Path

from tests.vault.cli.conftest import Run
from tests.vault.projects import write_policy


def test_init_makes_a_private_key_file_the_keyring_the_tables_and_the_budgets(run: Run, tmp_path: Path) -> None:
    write_policy(tmp_path)
    made = run("init")
    assert (made.status, made.err) == (0, "")
    assert stat.S_IMODE((tmp_path / "kek").stat().st_mode) == 0o600
    assert "0 of 1 spent" in run("budget").out


def test_init_again_leaves_what_is_there_and_makes_what_is_new(loaded: Run, tmp_path: Path) -> None:
    policy = tmp_path / "noisevault.toml"
    key, keys = (tmp_path / "kek").read_bytes(), loaded("keys", "list", "--json").out
    loaded("ask", "count(*)", "--epsilon", "0.5")
    policy.write_text(
        policy.read_text().replace('lifetime_epsilon = "1"', 'lifetime_epsilon = "2"')
        + '\n[table.ward]\nkey = ["id"]\n[table.ward.column]\nid = { type = "int" }\n'
    )
    assert "noisevault init" in loaded("check").err + loaded("check").out
    again = loaded("init")
    assert (again.status, again.err) == (0, "")
    assert (tmp_path / "kek").read_bytes() == key
    assert loaded("keys", "list", "--json").out == keys
    assert "0.5 of 2 spent" in loaded("budget").out
    assert len(loaded("show", "visit", "--json").out.splitlines()) == 4
    assert loaded("check").status == 0


def test_the_example_is_a_policy_that_init_takes(run: Run, tmp_path: Path) -> None:
    assert run("init", "--example").status == 0
    assert run("init").status == 0
    assert run("init", "--example").status == 1
    assert run("check").status == 0


def test_without_a_policy_one_is_told_how_to_begin(run: Run) -> None:
    assert "noisevault init --example" in run("init").err


def test_a_key_file_that_went_missing_is_not_replaced_by_a_new_one(run: Run, tmp_path: Path) -> None:
    write_policy(tmp_path)
    run("init")
    kept = (tmp_path / "kek").rename(tmp_path / "copy")
    again = run("init")
    assert again.status == 1
    assert "put it back" in again.err
    assert not (tmp_path / "kek").exists()
    kept.rename(tmp_path / "kek")
    assert run("init").status == 0


def test_a_keyring_that_was_changed_by_hand_is_told_as_such_and_not_made_anew(run: Run, tmp_path: Path) -> None:
    write_policy(tmp_path)
    run("init")
    with closing(sqlite3.connect(tmp_path / "keys.db")) as keys, keys:
        keys.execute("UPDATE noisevault_key SET state = 'asleep'")
    assert "changed by hand" in run("init").err
