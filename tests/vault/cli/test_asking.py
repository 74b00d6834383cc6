import json
from fractions import Fraction
from pathlib import Path

import pytest

from tests.vault.cli.conftest import Run


def test_an_answer_says_all_that_there_is_to_know_of_its_noise(loaded: Run) -> None:
    said = json.loads(loaded("ask", "mean(spending) by site", "--epsilon", "0.5", "--json").out)
    assert said["epsilon"] == "0.5"
    assert said["mechanism"] == "discrete Laplace"
    assert said["interval_label"] == "noise only, 95 %"
    assert [group["group"] for group in said["groups"]] == [{"site": 1}, {"site": 2}, {"site": 3}]
    assert [noise["part"] for noise in said["noise"]] == ["sum", "count"] or len(said["noise"]) == 2
    for group in said["groups"]:
        assert group["interval"][0] <= group["value"] <= group["interval"][1]
        assert float(Fraction(group["exact"])) == group["value"]


@pytest.mark.parametrize(
    ("question", "headings", "groups"),
    [
        ("count_units(*)", [], 1),
        ("count_distinct(national_id) by site", ["site"], 3),
        ("sum(a_site)", [], 1),
        ("mean(spending / site) by site", ["site"], 3),
        ("variance(spending)", [], 1),
        ("std(spending) by site", ["site"], 3),
        ("quantile(spending, 0.1, 0.9) by site", ["site", "quantile"], 6),
        ("median(a_site)", ["quantile"], 1),
        ("low(spending)", ["quantile"], 1),
        ("histogram(spending) by site", ["site", "spending"], 9),
        ("top(2) by site", ["site"], 2),
    ],
)
def test_every_aggregate_is_answered_as_a_table_and_as_json(
    loaded: Run, question: str, headings: list[str], groups: int
) -> None:
    asked = loaded("ask", question, "--epsilon", "0.5", "--json")
    assert (asked.status, asked.err) == (0, "")
    said = json.loads(asked.out)
    assert (said["epsilon"], said["rho"], said["delta"]) == ("0.5", None, "0")
    assert [list(group["group"]) for group in said["groups"]] == [headings] * groups
    shown = loaded("ask", said["question"], "--epsilon", "0.5")
    assert (shown.status, shown.err) == (0, "")
    assert '"spent": "0.5"' in loaded("budget", "--json").out, "a repeat is free"
    for heading in headings:
        assert f" {heading} " in shown.out
    for label in (label for group in said["groups"] for label in group["group"].values()):
        assert f" {label} " in shown.out


def test_groups_that_nobody_declared_cost_a_delta_and_a_rare_one_is_not_told(loaded: Run, tmp_path: Path) -> None:
    """K20-01 in the small: the chance that one of three persons' numbers is told is a millionth each."""
    policy = tmp_path / "noisevault.toml"
    added = 'lifetime_delta = "1e-5"\nunknown.national_id = { delta = "1e-6" }\n'
    policy.write_text(policy.read_text() + added)
    assert loaded("budget", "apply", "--reason", "a delta is wanted").status == 0
    said = json.loads(loaded("ask", "count_units(*) by national_id", "--epsilon", "0.5", "--json").out)
    assert (said["epsilon"], said["delta"], said["groups"]) == ("0.5", "0.000001", [])
    assert "told from " in said["mechanism"]
    shown = loaded("ask", "count_units by national_id", "--epsilon", "0.5").out
    assert "epsilon 0.5, delta 0.000001; " in shown
    assert "11-1" not in shown


def test_gaussian_noise_is_paid_for_in_rho_where_a_lifetime_delta_is_declared(loaded: Run, tmp_path: Path) -> None:
    refused = loaded("ask", "count(*)", "--rho", "0.01")
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    policy = tmp_path / "noisevault.toml"
    policy.write_text(policy.read_text() + 'lifetime_delta = "1e-5"\n')
    assert loaded("budget", "apply", "--reason", "a delta is wanted").status == 0
    said = json.loads(loaded("ask", "count(*) by site", "--rho", "0.001", "--json").out)
    assert (said["epsilon"], said["rho"], said["mechanism"]) == (None, "0.001", "discrete Gaussian")
    assert said["noise"] == [{"part": "count", "scale": "2000", "epsilon": None, "rho": "0.001"}]
    shown = " ".join(loaded("ask", "count(*) by site", "--rho", "0.001").out.split())
    assert "rho 0.001; discrete Gaussian, variance count 2,000;" in shown


def test_questions_in_one_request_are_separate_charges_and_a_repeat_is_free(loaded: Run) -> None:
    loaded("ask", "count(*)", "sum(spending)", "--epsilon", "0.25")
    shown = json.loads(loaded("budget", "--json").out)
    assert (shown["dataset"], shown["spent"], shown["remaining"]) == ("visits", "0.5", "0.5")
    first = loaded("ask", "count(*)", "--epsilon", "0.25", "--json").out
    assert loaded("ask", "COUNT( * )", "--epsilon", "0.25", "--json").out == first
    assert '"spent": "0.5"' in loaded("budget", "--json").out


def test_a_lifetime_delta_is_brought_to_the_ledger_and_shown_as_the_other_way_to_fit(
    loaded: Run, tmp_path: Path
) -> None:
    loaded("ask", "count(*)", "--epsilon", "0.5")
    policy = tmp_path / "noisevault.toml"
    policy.write_text(policy.read_text().replace('epsilon = "1"', 'epsilon = "1"\nlifetime_delta = "1e-6"'))
    assert "dataset.visits: its budgets are not those of the ledger" in loaded("check").out
    loaded("budget", "apply", "--reason", "a delta is wanted")
    assert loaded("check").status == 0
    shown = json.loads(loaded("budget", "--json").out)
    assert (shown["spent"], shown["spent_rho"], shown["largest_question"]) == ("0.5", "0.125", "0.5")
    assert 0 < Fraction(shown["lifetime_rho"]) < Fraction("0.125")
    line = " ".join(loaded("budget").out.split())
    assert "rho 0.125 of 0.02" in line
    assert "one more question may cost epsilon 0.5" in line


def test_k24_03_when_the_budget_is_gone_each_question_is_refused_and_nothing_changes(loaded: Run) -> None:
    assert loaded("ask", "count(*)", "--epsilon", "1").status == 0
    for _ in range(2):
        refused = loaded("ask", "sum(spending)", "--epsilon", "0.1")
        assert (refused.status, refused.out, refused.err.count("\n")) == (1, "", 1)
        assert "'visits' has 0 left" in refused.err
        assert '"spent": "1"' in loaded("budget", "--json").out


@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "inf", "1e-10", "0.0000000001", "true", "", "one", "5e-324"])
def test_k19_05_a_bad_epsilon_is_refused_by_name_and_costs_nothing(loaded: Run, epsilon: str) -> None:
    refused = loaded("ask", "count(*)", f"--epsilon={epsilon}")
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert "epsilon" in refused.err
    assert '"spent": "0"' in loaded("budget", "--json").out


@pytest.mark.parametrize("words", [(), ("--epsilon", "1", "--rho", "1"), ("--rho", "0"), ("--rho", "x")])
def test_k19_05_a_question_without_one_price_is_refused_by_name(loaded: Run, words: tuple[str, ...]) -> None:
    refused = loaded("ask", "count(*)", *words)
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert ("rho: " if words else "epsilon: ") in refused.err
    assert '"spent": "0"' in loaded("budget", "--json").out


@pytest.mark.parametrize(
    "question",
    [
        "",
        "mode(spending)",
        "sum(diagnosis)",
        "count(*) by year",
        "count(*) where site = 'x'",
        "sum(nobody)",
        "count(*) or",
        "min(spending)",
        "sum(spending * 2)",
        "median(site)",
        "histogram(a_site)",
        "quantile(spending, 1.5)",
        "quantile(spending)",
        "top(4) by site",
        "top(0) by site",
        "count(*) by national_id",
        "count_distinct(a_site)",
        "count(*) where site > 1 and site < 2",
        "sum(log(spending))",
        "count(*) from visit join visit",
    ],
)
def test_a_question_that_cannot_be_asked_is_one_line_and_costs_nothing(loaded: Run, question: str) -> None:
    refused = loaded("ask", question, "--epsilon", "0.1")
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert '"spent": "0"' in loaded("budget", "--json").out


@pytest.mark.parametrize("error", [KeyError("uid not found"), OSError("no username")])
def test_a_user_without_a_name_is_asked_for_one(loaded: Run, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def nameless() -> str:
        raise error

    monkeypatch.setattr("getpass.getuser", nameless)
    refused = loaded("ask", "count(*)", "--epsilon", "0.1")
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert "--who" in refused.err
    assert loaded("ask", "count(*)", "--epsilon", "0.1", "--who", "ann").status == 0


def test_what_stands_in_brackets_is_shown_as_it_is(loaded: Run, tmp_path: Path) -> None:
    policy = tmp_path / "noisevault.toml"
    wards = policy.read_text().replace("groups.site = [1, 2, 3]", 'groups.diagnosis = ["[a]", "[/b]"]')
    policy.write_text(wards)
    asked = loaded("ask", "count(*) where diagnosis != '[/c]' by diagnosis", "--epsilon", "0.1")
    assert (asked.status, asked.err) == (0, "")
    assert "'[/c]'" in asked.out
    assert all(f"│ {label} " in asked.out for label in ("[a]", "[/b]"))


BATCH = ("sum(spending)", "count(*) by site", "COUNT( * )")


def test_a_batch_is_one_charge_shown_in_the_order_asked_and_free_in_any_other(loaded: Run) -> None:
    asked = loaded("ask", *BATCH, "--epsilon", "0.25", "--batch", "--json")
    assert (asked.status, asked.err) == (0, "")
    *answers, whole = asked.out.splitlines()
    assert [json.loads(line)["question"] for line in answers] == ["sum(spending)", "count(*) by site", "count(*)"]
    assert [json.loads(line)["epsilon"] for line in answers] == ["0.25"] * 3
    assert json.loads(whole) == {"batch": 3, "epsilon": "0.75", "rho": "0.09375", "delta": "0"}
    assert '"spent": "0.75"' in loaded("budget", "--json").out
    again = loaded("ask", *reversed(BATCH), "count(*)", "--epsilon", "0.25", "--batch", "--json").out.splitlines()
    assert again == [answers[2], answers[1], answers[0], answers[2], whole]
    shown = loaded("ask", *BATCH, "--epsilon", "0.25", "--batch").out
    assert "as one charge, the batch of 3 questions cost epsilon 0.75 in all\n" in shown
    assert shown.index("sum(spending)") < shown.index("count(*) by site")
    assert '"spent": "0.75"' in loaded("budget", "--json").out


def test_a_batch_that_does_not_fit_is_refused_as_a_whole(loaded: Run) -> None:
    refused = loaded("ask", *BATCH, "--epsilon", "0.5", "--batch")
    assert (refused.status, refused.out, refused.err.count("\n")) == (1, "", 1)
    assert "costs epsilon 1.5" in refused.err
    assert '"spent": "0"' in loaded("budget", "--json").out


def test_a_batch_of_one_question_is_that_question(loaded: Run) -> None:
    alone = loaded("ask", "count(*)", "--epsilon", "0.25", "--json").out
    batch = loaded("ask", "COUNT(*)", "count(*)", "--epsilon", "0.25", "--batch", "--json").out.splitlines(
        keepends=True
    )
    assert batch[:2] == [alone, alone]
    assert json.loads(batch[2])["epsilon"] == "0.25"
    assert '"spent": "0.25"' in loaded("budget", "--json").out


def test_a_batch_costs_what_plan_says_at_the_same_delta(loaded: Run, tmp_path: Path) -> None:
    policy = tmp_path / "noisevault.toml"
    policy.write_text(policy.read_text() + 'lifetime_delta = "1e-5"\n')
    assert loaded("budget", "apply", "--reason", "a delta is wanted").status == 0
    questions = [f"count(*) where year = {year}" for year in range(40)]
    planned = json.loads(loaded("plan", *questions, "--epsilon", "0.02", "--delta", "1e-6", "--json").out)
    assert (planned["helps"], planned["sum"]) == (True, "0.8")
    asked = loaded("ask", *questions, "--epsilon", "0.02", "--batch", "--delta", "1e-6", "--json")
    assert (asked.status, asked.err) == (0, "")
    whole = json.loads(asked.out.splitlines()[-1])
    assert (whole["epsilon"], whole["delta"]) == (planned["batch"], "0.000001")
    assert json.loads(loaded("budget", "--json").out)["spent"] == planned["batch"]


@pytest.mark.parametrize("words", [("--delta", "1e-6"), ("--batch", "--delta", "1"), ("--batch", "--delta", "x")])
def test_a_delta_that_is_none_or_of_no_batch_is_refused_by_name(loaded: Run, words: tuple[str, ...]) -> None:
    refused = loaded("ask", "count(*)", "sum(spending)", "--epsilon", "0.1", *words)
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert "delta: " in refused.err
    assert '"spent": "0"' in loaded("budget", "--json").out
