from pathlib import Path

from tests.vault.cli.conftest import Run


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
