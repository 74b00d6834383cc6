import stat
from pathlib import Path

from tests.vault.cli.conftest import Run
from tests.vault.projects import write_policy


def test_init_makes_a_private_key_file_the_keyring_the_tables_and_the_budgets(run: Run, tmp_path: Path) -> None:
    write_policy(tmp_path)
    made = run("init")
    assert (made.status, made.err) == (0, "")
    assert stat.S_IMODE((tmp_path / "kek").stat().st_mode) == 0o600
    assert "0 of 1 spent" in run("budget").out


def test_init_twice_is_refused_in_one_line(run: Run, tmp_path: Path) -> None:
    write_policy(tmp_path)
    key = (run("init"), (tmp_path / "kek").read_bytes())[1]
    again = run("init")
    assert again.status == 1
    assert again.err.count("\n") == 1
    assert (tmp_path / "kek").read_bytes() == key


def test_the_example_is_a_policy_that_init_takes(run: Run, tmp_path: Path) -> None:
    assert run("init", "--example").status == 0
    assert run("init").status == 0
    assert run("init", "--example").status == 1
    assert run("check").status == 0


def test_without_a_policy_one_is_told_how_to_begin(run: Run) -> None:
    assert "noisevault init --example" in run("init").err
