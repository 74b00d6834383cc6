from pathlib import Path

import pytest

from tests.vault.cli.conftest import Run
from vault.cli.demonstrating import command


def test_the_demonstration_shows_every_step_and_leaves_a_project_to_go_on_with(run: Run, tmp_path: Path) -> None:
    shown = run("demo", "--folder", str(tmp_path / "demo"))
    assert (shown.status, shown.err) == (0, "")
    for said in (
        "20190 rows sealed and stored",
        "20190 rows rewritten",
        "0 of them wrong",
        "same answer: True",
        "refused: this answer costs epsilon 0.5",
        "the answer that was paid for is still given: True",
        "exact",
    ):
        assert said in shown.out
    policy = str(tmp_path / "demo" / "noisevault.toml")
    assert run("check", "--policy", policy).status == 0
    assert "3 of 3 spent" in run("budget", "--policy", policy).out


def test_a_folder_that_has_a_policy_is_left_as_it_is(loaded: Run, tmp_path: Path) -> None:
    policy = (tmp_path / "noisevault.toml").read_text()
    refused = loaded("demo", "--folder", str(tmp_path))
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert (tmp_path / "noisevault.toml").read_text() == policy
    assert not (tmp_path / "people.csv").exists()


def test_the_command_to_go_on_with_can_be_typed_as_it_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Path(command()).exists()
    (tmp_path / "noisevault").touch(mode=0o755)
    assert command() == "noisevault"
