import json

import pytest
import typer

from dp.selftest.finding import Finding, Verdict
from tests.vault.cli.conftest import Run
from vault.cli.self_testing import tell

FOUND = [
    Finding("coins: chi-squared", 12.3456, 0.5, Verdict.PASS),
    Finding("forks: numbers drawn twice", 3, None, Verdict.FAIL),
    Finding("not here", None, None, Verdict.SKIPPED),
]


def test_the_self_test_passes_without_a_project_and_says_what_it_saw(run: Run) -> None:
    tested = run("dp", "selftest")
    assert (tested.status, tested.err) == (0, "")
    assert tested.out.splitlines()[0].split() == ["check", "statistic", "p", "value", "verdict"]
    assert "discrete Laplace in a batch, scale 10: told from 0.7 of it" in tested.out
    assert tested.out.splitlines()[-1].endswith(" checks passed, 0 failed, 0 skipped")


def test_machines_read_the_same(run: Run) -> None:
    tested = run("dp", "selftest", "--json", "--draws", "25000")
    report = json.loads(tested.out)
    assert (tested.status, report["passed"]) == (0, True)
    assert {frozenset(check) for check in report["checks"]} == {frozenset({"check", "statistic", "p_value", "verdict"})}
    assert {check["verdict"] for check in report["checks"]} == {"pass"}


def test_a_failure_ends_with_1_and_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended:
        tell(FOUND, as_json=False)
    said = capsys.readouterr().out
    assert ended.value.exit_code == 1
    assert "1 checks passed, 1 failed, 1 skipped" in said
    assert "SECURITY.md" in said
    with pytest.raises(typer.Exit):
        tell(FOUND, as_json=True)
    report = json.loads(capsys.readouterr().out)
    assert (report["passed"], [check["verdict"] for check in report["checks"]]) == (False, ["pass", "fail", "skipped"])


def test_too_few_draws_are_refused(run: Run) -> None:
    refused = run("dp", "selftest", "--draws", "5")
    assert refused.status == 1
    assert "draws" in refused.err
    assert refused.err.count("\n") == 1
