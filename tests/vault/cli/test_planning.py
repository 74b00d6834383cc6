import json
from fractions import Fraction
from pathlib import Path

import pytest

from tests.vault.cli.conftest import Run
from tests.vault.projects import write_policy


@pytest.fixture
def alone(run: Run, tmp_path: Path) -> Run:
    """A folder with a policy, and neither key, database nor ledger."""
    write_policy(tmp_path)
    return run


def test_a_batch_is_priced_by_each_accountant_from_the_policy_alone(alone: Run, tmp_path: Path) -> None:
    asked = alone("plan", "count(*)", "sum(spending); epsilon 0.2", "--epsilon", "0.1", "--delta", "1e-6", "--json")
    assert (asked.status, asked.err) == (0, "")
    said = json.loads(asked.out)
    assert [one["epsilon"] for one in said["questions"]] == ["0.1", "0.2"]
    assert (said["sum"], said["delta"], said["helps"]) == ("0.3", "0.000001", False)
    assert Fraction(said["batch"]) <= Fraction(3, 10) < Fraction(said["concentrated"])
    assert "do not help here" in said["advice"]
    assert (said["fits_one_by_one"], said["fits_as_batch"]) == (True, True)
    assert [path.name for path in tmp_path.iterdir()] == ["noisevault.toml"]


def test_a_batch_of_many_is_cheaper_in_advance(alone: Run, tmp_path: Path) -> None:
    lines = ["# one for each day", *(f"count(*) where year = {year}" for year in range(100))]
    (tmp_path / "questions.txt").write_text("\n".join(lines), encoding="utf-8")
    said = json.loads(alone("plan", "--file", "questions.txt", "--epsilon", "0.1", "--delta", "1e-6", "--json").out)
    assert (said["sum"], said["helps"], said["fits_one_by_one"]) == ("10", True, False)
    assert Fraction(said["batch"]) < 5, "4.7746 at delta 1e-6, by the published table"
    shown = alone("plan", "--file", "questions.txt", "--epsilon", "0.1", "--delta", "1e-6").out
    for told in (
        "sum of epsilon",
        "as one batch (KOV) at delta 0.000001",
        "Declared in advance as one batch",
        "do not fit",
    ):
        assert told in shown


def test_without_a_delta_only_the_sum_counts(alone: Run) -> None:
    said = json.loads(alone("plan", "count(*)", "--epsilon", "0.1", "--json").out)
    assert (said["sum"], said["batch"], said["concentrated"], said["delta"]) == ("0.1", "0.1", None, "0")


def test_a_budget_is_shared_equally_or_by_the_errors_that_are_wished(alone: Run) -> None:
    said = json.loads(alone("plan", "count(*)", "sum(spending)", "median(spending)", "--budget", "1", "--json").out)
    shares = [Fraction(one["epsilon"]) for one in said["questions"]]
    assert sum(shares) == 1
    assert max(shares) - min(shares) <= Fraction(1, 10**9)
    by_error = alone("plan", "count(*); error 10", "count(*) by site; error 20", "--budget", "0.6", "--json")
    needs_more, less = (Fraction(one["epsilon"]) for one in json.loads(by_error.out)["questions"])
    assert needs_more + less == Fraction(6, 10)
    assert Fraction(18, 10) < needs_more / less < Fraction(22, 10)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ((), "say which questions, or name a file"),
        (("count(*)",), "epsilon: say what"),
        (("count(*)", "--budget", "0"), "epsilon: "),
        (("count(*); error 1", "sum(spending)", "--budget", "1"), "error: question 2 has none"),
        (("count(*); size 1", "--epsilon", "1"), "line 1 of the plan"),
        (("mean(spending); count x", "--epsilon", "1"), "count: it is a whole number"),
        (("count(*)", "--epsilon", "1", "--delta", "1"), "delta: "),
        (("sum(year)", "--epsilon", "1"), "column: year has no bounds"),
        (("--file", "nowhere.txt", "--epsilon", "1"), "nowhere.txt"),
    ],
)
def test_what_cannot_be_planned_is_one_line_that_names_it(alone: Run, words: tuple[str, ...], named: str) -> None:
    refused = alone("plan", *words)
    assert (refused.status, refused.out, refused.err.count("\n")) == (1, "", 1)
    assert named in refused.err
