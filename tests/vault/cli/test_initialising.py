import io
import json
import os
import pty
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from kms import KeyStore
from tests.vault.cli.conftest import Run
from tests.vault.projects import write_policy


def test_init_makes_a_private_key_file_the_keyring_the_tables_and_the_budgets(run: Run, tmp_path: Path) -> None:
    write_policy(tmp_path)
    made = run("init")
    assert (made.status, made.err) == (0, "")
    assert stat.S_IMODE((tmp_path / "kek").stat().st_mode) == 0o600
    assert "0 of 1 spent" in run("budget").out


def ids_and_states(run: Run) -> list[tuple[str, str]]:
    return [(key["key_id"], key["state"]) for key in json.loads(run("keys", "list", "--json").out)]


def test_init_again_leaves_what_is_there_and_makes_what_is_new(loaded: Run, tmp_path: Path) -> None:
    policy = tmp_path / "noisevault.toml"
    key, keys = (tmp_path / "kek").read_bytes(), ids_and_states(loaded)
    loaded("ask", "count(*)", "--epsilon", "0.5")
    policy.write_text(
        policy.read_text().replace('lifetime_epsilon = "1"', 'lifetime_epsilon = "2"')
        + '\n[table.ward]\nkey = ["id"]\n[table.ward.column]\nid = { type = "int" }\n'
    )
    assert "noisevault init" in loaded("check").err + loaded("check").out
    again = loaded("init")
    assert (again.status, again.err) == (0, "")
    assert "dataset.visits: its budgets are not those of the ledger" in again.out
    assert "0.5 of 1 spent" in loaded("budget").out
    assert loaded("check").status == 1
    assert loaded("budget", "apply", "--reason", "the year is new").status == 0
    assert (tmp_path / "kek").read_bytes() == key
    assert ids_and_states(loaded) == keys
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


PASSPHRASE = "correct horse battery staple"


@pytest.fixture
def passphrase_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "passphrase"
    file.touch(0o600)
    file.write_text(f"{PASSPHRASE}\n")
    monkeypatch.setenv("NOISEVAULT_PASSPHRASE_FILE", str(file))
    return file


def test_a_key_file_with_a_passphrase_is_made_and_used(run: Run, tmp_path: Path, passphrase_file: Path) -> None:
    write_policy(tmp_path)
    made = run("init", "--passphrase")
    assert (made.status, made.err) == (0, "")
    assert "without the passphrase it does not open either" in made.out
    assert PASSPHRASE not in made.out
    assert json.loads((tmp_path / "kek").read_text())["kdf"] == "argon2id"
    assert stat.S_IMODE((tmp_path / "kek").stat().st_mode) == 0o600
    assert run("keys", "check").status == 0
    assert run("init").status == 0
    assert "there already or elsewhere" in run("init", "--passphrase").err


def test_another_passphrase_and_a_damaged_file_are_told_apart(
    run: Run, tmp_path: Path, passphrase_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_policy(tmp_path)
    assert run("init", "--passphrase").status == 0
    passphrase_file.write_text("incorrect horse battery staple")
    assert "refused: the passphrase does not open the key file" in run("rotate").err
    passphrase_file.write_text(PASSPHRASE)
    whole = (tmp_path / "kek").read_bytes()
    (tmp_path / "kek").write_bytes(whole.replace(b'"lanes":4', b'"lanes":5'))
    assert "is damaged: restore it from a copy" in run("rotate").err
    (tmp_path / "kek").write_bytes(whole)
    monkeypatch.delenv("NOISEVAULT_PASSPHRASE_FILE")
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert "name a file of mode 0600 that holds it by NOISEVAULT_PASSPHRASE_FILE" in run("rotate").err


def test_a_short_passphrase_makes_nothing(run: Run, tmp_path: Path, passphrase_file: Path) -> None:
    write_policy(tmp_path)
    passphrase_file.write_text("too short")
    assert "at least 15 characters" in run("init", "--passphrase").err
    assert not (tmp_path / "kek").exists()


def test_a_plain_file_that_was_put_in_the_place_is_refused(run: Run, tmp_path: Path, passphrase_file: Path) -> None:
    write_policy(tmp_path)
    assert run("init", "--passphrase").status == 0
    (tmp_path / "kek").write_text("00" * 32)
    assert "has no passphrase, but one is given" in run("keys", "check").err
    assert "refuses: " in run("keys", "list").out


def test_a_passphrase_is_typed_twice_and_never_shown(tmp_path: Path) -> None:
    """On a terminal, as a person has it."""
    write_policy(tmp_path)
    program = (
        "import fcntl, signal, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); signal.alarm(60)\n"
        "from vault.cli import main; main(sys.argv[1:])"
    )
    environment = {k: v for k, v in os.environ.items() if k != "NOISEVAULT_PASSPHRASE_FILE"}

    def typed(*lines: str, words: list[str]) -> str:
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            [sys.executable, "-c", program, *words],
            cwd=tmp_path,
            env=environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        ):
            os.close(theirs)
            shown, left = b"", list(lines)
            while True:
                try:
                    more = os.read(ours, 1000)
                except OSError:
                    break
                shown += more
                if left and shown.endswith(b": "):  # the blank comes once typing is not shown any more
                    os.write(ours, f"{left.pop(0)}\n".encode())
        os.close(ours)
        return shown.decode()

    shown = typed(PASSPHRASE, "another one", PASSPHRASE, PASSPHRASE, words=["init", "--passphrase"])
    assert "do not match" in shown
    assert PASSPHRASE not in shown
    assert "active data key" in typed(PASSPHRASE, words=["rotate"])
    assert "does not open the key file" in typed("wrong", words=["rotate"])


def test_a_lost_key_store_is_asked_for_and_not_made_anew_beside_sealed_values(loaded: Run, tmp_path: Path) -> None:
    kept = {file: file.read_bytes() for file in tmp_path.glob("keys.db*")}
    for file in kept:
        file.unlink()
    refused = loaded("init")
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert "put the key store back" in refused.err
    with closing(KeyStore.from_url(f"sqlite:///{tmp_path / 'keys.db'}")) as store:
        assert not store.has_schema(), "no table stands in the way of the copy"
    for file, content in kept.items():
        file.write_bytes(content)
    assert loaded("init").status == 0
    assert loaded("check").status == 0


def test_no_key_file_is_made_where_it_and_the_key_store_are_lost(loaded: Run, tmp_path: Path) -> None:
    for file in (*tmp_path.glob("keys.db*"), tmp_path / "kek"):
        file.unlink()
    assert "put the key store back" in loaded("init").err
    assert not (tmp_path / "kek").exists(), "it would be taken for the lost one"


def test_init_says_what_is_spent_so_that_a_ledger_that_starts_anew_is_seen(loaded: Run, tmp_path: Path) -> None:
    loaded("ask", "count(*)", "--epsilon", "0.5")
    assert "0.5 of 1 spent" in loaded("init").out
    for file in tmp_path.glob("ledger.db*"):
        file.unlink()
    assert "0 of 1 spent" in loaded("init").out
