import json
from fractions import Fraction
from pathlib import Path

import pytest

import dp
from tests.vault.cli.conftest import Run
from tests.vault.projects import write_policy
from vault.cli.previewing import parse_error


@pytest.fixture
def alone(run: Run, tmp_path: Path) -> Run:
    """A folder with a policy, and neither key, database nor ledger."""
    write_policy(tmp_path)
    return run


def test_an_error_and_a_price_need_the_policy_alone(alone: Run, tmp_path: Path) -> None:
    asked = alone("preview", "count(*)", "sum(spending) by site", "median(a_site)", "--epsilon", "0.5", "--json")
    assert (asked.status, asked.err) == (0, "")
    count, total, median = map(json.loads, asked.out.splitlines())
    # Two rows a person count: 95 of 100 draws of scale 4 are within 12.
    assert (count["question"], count["epsilon"], count["delta"]) == ("count(*)", "0.5", "0")
    assert (count["error"], count["width"], count["noise"][0]["scale"]) == (12.0, 24.0, "4")
    assert total["error"] == pytest.approx(100 * count["error"], rel=0.01)
    assert (median["question"], median["interval_label"]) == (
        "quantile(spending / site, 0.5)",
        "rows of rank, noise only, 95 %",
    )
    assert [path.name for path in tmp_path.iterdir()] == ["noisevault.toml"]


def test_the_error_is_that_of_the_answer(loaded: Run) -> None:
    expected = json.loads(loaded("preview", "count(*)", "--epsilon", "0.5", "--json").out)
    (group,) = json.loads(loaded("ask", "count(*)", "--epsilon", "0.5", "--json").out)["groups"]
    assert group["interval"][1] - group["interval"][0] == expected["width"]
    assert group["interval"][1] - group["value"] == expected["error"]
    assert '"spent": "0.5"' in loaded("budget", "--json").out


def test_the_epsilon_of_a_wanted_error_is_the_smallest(alone: Run) -> None:
    found = json.loads(alone("preview", "count(*)", "--error", "12", "--json").out)
    assert found["error"] == 12.0
    epsilon = Fraction(found["epsilon"])
    less = json.loads(alone("preview", "count(*)", "--epsilon", dp.show(int(epsilon * 10**9) - 1), "--json").out)
    assert less["error"] == 13.0


def test_a_mean_needs_rows_to_assume(alone: Run) -> None:
    refused = alone("preview", "mean(spending)", "--epsilon", "1")
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert "count: " in refused.err
    few, many = (
        json.loads(alone("preview", "mean(spending)", "--epsilon", "1", "--count", rows, "--json").out)
        for rows in ("100", "1000")
    )
    assert few["error"] > many["error"]
    shown = alone("preview", "mean(spending)", "--epsilon", "1", "--count", "1000").out
    assert "mean(spending) (1,000 rows assumed)" in shown


def test_gaussian_noise_is_previewed_by_its_rho(alone: Run) -> None:
    found = json.loads(alone("preview", "count(*)", "--rho", "0.01", "--json").out)
    assert (found["epsilon"], found["rho"], found["mechanism"]) == (None, "0.01", "discrete Gaussian")
    shown = alone("preview", "count(*)", "median(spending)", "--epsilon", "0.5").out
    assert "epsilon 0.5" in shown
    assert " rows of rank" in shown


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("count(*)",), "epsilon: say what"),
        (("count(*)", "--epsilon", "0"), "epsilon: "),
        (("count(*)", "--epsilon", "1", "--rho", "1"), "rho: "),
        (("count(*)", "--error", "x"), "error: "),
        (("count(*)", "--error", "-1"), "error: "),
        (("sum(year)", "--epsilon", "1"), "column: year has no bounds"),
        (("count(*)", "--epsilon", "1", "--dataset", "other"), "dataset: there is no dataset 'other'"),
        (("median(spending)", "--rho", "1"), "rho: this question is answered by no Gaussian noise"),
    ],
)
def test_what_cannot_be_previewed_is_one_line_that_names_it(alone: Run, words: tuple[str, ...], named: str) -> None:
    refused = alone("preview", *words)
    assert (refused.status, refused.out, refused.err.count("\n")) == (1, "", 1)
    assert named in refused.err


def test_an_error_is_exact() -> None:
    assert parse_error("2.5") == Fraction(5, 2)
