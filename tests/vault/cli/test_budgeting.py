"""noisevault budget, as it is typed: what it shows, and how budgets and epochs change."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.vault.cli.conftest import Run

LIFETIME = 'lifetime_epsilon = "1"'
SCOPES = """
budget = { day = "0.6", quarter = "0.9" }
column.spending = { week = "0.4" }
column.site = { ever = "0.5" }
each_analyst = { month = "0.5" }
analyst."ann@example.org" = { month = "0.3" }
group.press = { members = ["ann@example.org", "bo"], day = "0.4" }
most_epsilon = "0.5"
"""
COPY = """
[dataset.again]
table = "visit"
unit = "person"
rows_per_unit = 1
lifetime_epsilon = "0.8"
"""
SHARED = '[lifetime.persons]\ndatasets = ["visits", "again"]\nepsilon = "1.5"\n'


def declare(run: Run, folder: Path, lines: str = SCOPES, more: str = "") -> None:
    """Apply them; none of it may be there yet."""
    path = folder / "noisevault.toml"
    path.write_text(path.read_text().replace(LIFETIME, LIFETIME + lines) + more)
    applied = run("budget", "apply", "--reason", "the council asked for it")
    assert applied.status == 0, applied.err


def shown(run: Run, dataset: str = "visits") -> dict[str, Any]:
    lines: list[dict[str, Any]] = [json.loads(line) for line in run("budget", "--json").out.splitlines()]
    return next(one for one in lines if one["dataset"] == dataset)


def spent(run: Run) -> dict[tuple[str, str, str], str]:
    """By kind, subject and span, what each scope has spent that has spent anything."""
    return {(s["kind"], s["subject"], s["span"]): s["spent"] for s in shown(run)["scopes"] if s["spent"] != "0"}


def ask(run: Run, question: str, epsilon: str, who: str = "cy", *words: str) -> int:
    return run("ask", question, "--epsilon", epsilon, "--who", who, "--dataset", "visits", *words).status


def test_every_scope_of_a_question_is_charged_and_shown_beside_the_loss_for_life(loaded: Run, tmp_path: Path) -> None:
    declare(loaded, tmp_path)
    assert ask(loaded, "sum(spending) by site", "0.2", "ann@example.org") == 0
    assert spent(loaded) == {
        ("dataset", "", "day"): "0.2",
        ("dataset", "", "quarter"): "0.2",
        ("column", "spending", "week"): "0.2",
        ("column", "site", "ever"): "0.2",
        ("analyst", "ann@example.org", "month"): "0.2",
        ("group", "press", "day"): "0.2",
    }
    assert ask(loaded, "count(*)", "0.1", "cy") == 0
    assert ("analyst", "cy", "month") in spent(loaded)
    rows = [re.split(r"\s{2,}", line.strip()) for line in loaded("budget").out.splitlines()]
    assert ["lifetime", "ever", "#####...........", "0.3", "1", "0.3"] in rows
    (day,) = (row for row in rows if row[:2] == ["all askers together", "day"])
    assert (day[2:5], day[6]) == (["########........", "0.3", "0.6"], "0.3")
    assert re.fullmatch(r"20\d\d-\d\d-\d\d \d\d:00 UTC", day[5])
    assert ["each analyst", "month", "0.5"] in rows
    assert ["column site", "ever", "#######.........", "0.2", "0.5", "0.2"] in rows
    for scope in shown(loaded)["scopes"]:
        assert (scope["refills_at"] is None) == (scope["spent"] == "0" or scope["span"] == "ever")
        assert scope["spent_for_ever"] == scope["spent"]


@pytest.mark.parametrize(
    ("question", "who", "epsilon", "short"),
    [
        ("sum(spending)", "cy", "0.45", "the budget of a week of column 'spending'"),
        ("count(*) where spending > 3", "cy", "0.45", "the budget of a week of column 'spending'"),
        ("mean(a_site)", "cy", "0.45", "the budget of a week of column 'spending'"),
        ("count(*)", "ann@example.org", "0.35", "the budget of a month of analyst 'ann@example.org'"),
        ("count(*)", "bo", "0.45", "the budget of a day of group 'press'"),
        ("count(*)", "cy", "0.55", "a question of dataset 'visits' costs epsilon at most 0.5, and this one 0.55"),
    ],
)
def test_a_question_fits_all_that_apply_or_is_refused_by_name_and_costs_nothing(
    loaded: Run, tmp_path: Path, question: str, who: str, epsilon: str, short: str
) -> None:
    declare(loaded, tmp_path)
    refused = loaded("ask", question, "--epsilon", epsilon, "--who", who)
    assert (refused.status, refused.out, refused.err.count("\n")) == (1, "", 1)
    assert short in refused.err
    assert spent(loaded) == {}


def test_k22_05_aggregates_of_one_request_are_charged_each_in_every_scope(loaded: Run, tmp_path: Path) -> None:
    """count + sum + mean at 0.1 each: 0.3 of the lifetime, 0.2 of the column that two of them read; or as a batch."""
    declare(loaded, tmp_path)
    three = ("count(*)", "sum(spending)", "mean(spending)")
    assert loaded("ask", *three, "--epsilon", "0.1", "--who", "cy").status == 0
    assert shown(loaded)["spent"] == "0.3"
    once = {
        ("dataset", "", "day"): "0.3",
        ("dataset", "", "quarter"): "0.3",
        ("column", "spending", "week"): "0.2",
        ("analyst", "cy", "month"): "0.3",
    }
    assert spent(loaded) == once
    others = tuple(f"{one} where year = 1" for one in three)
    assert loaded("ask", *others, "--epsilon", "0.05", "--who", "cy", "--batch").status == 0
    assert shown(loaded)["spent"] == "0.45"
    assert spent(loaded) == {key: {"0.3": "0.45", "0.2": "0.3"}[nano] for key, nano in once.items()}
    refused = loaded("ask", *three, "--epsilon", "0.2", "--who", "cy")
    assert (refused.status, shown(loaded)["spent"]) == (1, "0.45"), "the first of them is refused"


def test_k24_07_what_is_spent_is_spent_in_every_process_and_by_every_name(loaded: Run, tmp_path: Path) -> None:
    words = ["ask", "count(*)", "--epsilon", "0.4", "--dataset", "visits"]
    subprocess.run(
        [sys.executable, "-c", "from vault.cli import main; main()", *words], cwd=tmp_path, check=True, timeout=60
    )
    assert (shown(loaded)["spent"], shown(loaded)["remaining"]) == ("0.4", "0.6")
    path = tmp_path / "noisevault.toml"
    path.write_text(path.read_text() + COPY)
    declared = loaded("init")
    assert declared.status == 0
    assert "warning: dataset 'again' has the rows of 'visits'" in declared.out
    (copies,) = shown(loaded, "again")["shared_lifetimes"]
    assert (copies["datasets"], copies["spent"], copies["remaining"]) == (["again", "visits"], "0.4", "0.4")
    assert "copies: again, visits" in loaded("budget").out
    assert "warning: dataset.again has the rows of visits" in loaded("check").out
    refused = loaded("ask", "count(*)", "--epsilon", "0.5", "--dataset", "again")
    assert (refused.status, refused.out) == (1, "")
    assert loaded("ask", "count(*)", "--epsilon", "0.4", "--dataset", "again").status == 0
    assert ask(loaded, "sum(spending)", "0.1") == 1, "the copy has spent what was left"


def test_k24_07_a_copy_that_is_declared_separate_has_a_budget_of_its_own(loaded: Run, tmp_path: Path) -> None:
    assert ask(loaded, "count(*)", "0.4") == 0
    path = tmp_path / "noisevault.toml"
    path.write_text(path.read_text() + COPY + 'separate_budget = "a sample of other persons"\n')
    assert "has the rows of" not in loaded("init").out
    assert "warning" not in loaded("check").out
    assert loaded("ask", "count(*)", "--epsilon", "0.8", "--dataset", "again").status == 0


def test_datasets_that_share_a_lifetime_spend_it_together(loaded: Run, tmp_path: Path) -> None:
    declare(loaded, tmp_path, "\n", COPY + 'separate_budget = "a sample of other persons"\n' + SHARED)
    assert ask(loaded, "count(*)", "0.9") == 0
    refused = loaded("ask", "count(*)", "--epsilon", "0.7", "--dataset", "again")
    assert (refused.status, "persons" in refused.err) == (1, True)
    (shared,) = shown(loaded, "again")["shared_lifetimes"]
    assert (shared["name"], shared["spent"], shared["remaining"]) == ("persons", "0.9", "0.6")


def test_where_policy_and_ledger_differ_each_command_says_so_and_the_ledger_holds(loaded: Run, tmp_path: Path) -> None:
    path = tmp_path / "noisevault.toml"
    path.write_text(path.read_text().replace(LIFETIME, 'lifetime_epsilon = "0.2"'))
    told = "dataset.visits: its budgets are not those of the ledger, which are the ones that hold; "
    asked = loaded("ask", "count(*)", "--epsilon", "0.5", "--json")
    assert (asked.status, asked.err.startswith(f"note: {told}")) == (0, True)
    assert json.loads(asked.out)["epsilon"] == "0.5"
    for words in (["budget"], ["budget", "--json"]):
        assert told in loaded(*words).err
    assert told in loaded("check").out
    assert told in loaded("init").out
    assert shown(loaded)["lifetime"] == "1"
    assert "has the policy's budgets now" in loaded("budget", "apply", "--reason", "less is enough").out
    assert (shown(loaded)["lifetime"], shown(loaded)["remaining"]) == ("0.2", "0")
    assert "nothing was changed" in loaded("budget", "apply", "--reason", "again").out
    assert loaded("check").status == 0


def test_a_dataset_that_the_ledger_does_not_know_is_told_and_the_others_are_shown(loaded: Run, tmp_path: Path) -> None:
    path = tmp_path / "noisevault.toml"
    path.write_text(path.read_text() + COPY)
    ended = loaded("budget", "--json")
    assert (ended.status, [json.loads(line)["dataset"] for line in ended.out.splitlines()]) == (0, ["visits"])
    assert ended.err.startswith("note: dataset.again: ")


def test_a_change_needs_a_reason_and_more_than_the_soft_limit_consent(loaded: Run, tmp_path: Path) -> None:
    path = tmp_path / "noisevault.toml"
    path.write_text(path.read_text().replace(LIFETIME, 'lifetime_epsilon = "12"'))
    assert loaded("budget", "apply").status == 2
    assert "reason: " in loaded("budget", "apply", "--reason", " ").err
    refused = loaded("budget", "apply", "--reason", "more")
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert refused.err.endswith("--i-accept\n")
    assert shown(loaded)["lifetime"] == "1"
    accepted = loaded("budget", "apply", "--reason", "more", "--i-accept")
    assert "warning: dataset 'visits' may cost one person epsilon 12 a year, above 10" in accepted.out
    assert shown(loaded)["lifetime"] == "12"


def test_an_epoch_lets_answers_be_new_at_a_new_charge(loaded: Run) -> None:
    first = loaded("ask", "count(*)", "--epsilon", "0.1", "--json").out
    assert loaded("ask", "count(*)", "--epsilon", "0.1", "--json").out == first
    assert "epoch 2" in loaded("budget", "epoch", "visits", "--reason", "load of May").out
    assert loaded("ask", "count(*)", "--epsilon", "0.1", "--json").status == 0
    assert (shown(loaded)["epoch"], shown(loaded)["spent"]) == (2, "0.2")
    assert loaded("budget", "epoch", "visits", "--reason", " ").status == 1
    assert shown(loaded)["epoch"] == 2
    refused = loaded("budget", "epoch", "nobody", "--reason", "load of May")
    assert (refused.status, "it names: visits" in refused.err) == (1, True)


def test_a_program_reads_what_became_of_each_place_and_which_epoch_it_is(loaded: Run, tmp_path: Path) -> None:
    path = tmp_path / "noisevault.toml"
    path.write_text(path.read_text().replace(LIFETIME, 'lifetime_epsilon = "2"') + COPY)
    assert loaded("init").status == 0
    applied = loaded("budget", "apply", "--reason", "more is wanted", "--json")
    visits, again = map(json.loads, applied.out.splitlines())
    assert (visits["place"], visits["changed"]) == ("dataset.visits", True)
    assert (again["place"], again["changed"]) == ("dataset.again", False)
    assert "has the rows of 'visits'" in again["warnings"][0]
    unchanged = loaded("budget", "apply", "--reason", "once more", "--json").out.splitlines()
    assert [json.loads(line)["changed"] for line in unchanged] == [False, False]
    path.write_text(path.read_text().replace('lifetime_epsilon = "2"', 'lifetime_epsilon = "20"'))
    refused = loaded("budget", "apply", "--reason", "more is wanted", "--json")
    assert (refused.status, refused.out, "--i-accept" in refused.err) == (1, "", True)
    advanced = loaded("budget", "epoch", "visits", "--reason", "load of May", "--json")
    assert json.loads(advanced.out) == {"dataset": "visits", "epoch": 2}


def test_options_before_a_subcommand_are_refused_and_not_left_out(loaded: Run) -> None:
    refused = loaded("budget", "--policy", "other.toml", "epoch", "visits", "--reason", "load of May")
    assert (refused.status, "behind epoch" in refused.err) == (1, True)
    assert shown(loaded)["epoch"] == 1


def test_no_display_of_budgets_shows_a_value(loaded: Run, tmp_path: Path) -> None:
    declare(loaded, tmp_path, more=COPY)
    ask(loaded, "count(*) where diagnosis = 'asthma'", "0.1")
    for words in (["budget"], ["budget", "--json"]):
        assert not re.search(r"asthma|gout|11-1", loaded(*words).out)


def test_k24_05_a_request_id_gets_what_became_of_it_and_is_no_second_charge(loaded: Run) -> None:
    words = ("--epsilon", "0.1", "--who", "ann", "--json", "--request-id", "report 7")
    first = loaded("ask", "count(*)", *words)
    assert loaded("ask", "count", *words).out == first.out
    assert shown(loaded)["spent"] == "0.1"
    for other in (("sum(spending)", *words), ("count(*)", *words, "--epsilon", "0.2")):
        refused = loaded("ask", *other)
        assert (refused.status, refused.out, "request id was used before" in refused.err) == (1, "", True)
    assert shown(loaded)["spent"] == "0.1"
    assert loaded("budget", "epoch", "visits", "--reason", "load of May").status == 0
    assert loaded("ask", "sum(spending)", *words[:3], "bo", *words[4:]).status == 0, "another's id is another id"
    assert shown(loaded)["spent"] == "0.2"


def test_k24_05_a_refusal_stays_what_it_was_for_its_request_id(loaded: Run, tmp_path: Path) -> None:
    declare(loaded, tmp_path, '\nbudget = { day = "0.3" }\n')
    words = ("--epsilon", "0.5", "--who", "ann", "--request-id", "report 8")
    assert "the budget of a day" in loaded("ask", "count(*)", *words).err
    path = tmp_path / "noisevault.toml"
    path.write_text(path.read_text().replace('day = "0.3"', 'day = "0.6"'))
    assert loaded("budget", "apply", "--reason", "more is wanted").status == 0
    assert loaded("ask", "count(*)", *words).status == 1
    assert loaded("ask", "count(*)", *words[:-1], "report 9").status == 0


def test_a_batch_has_one_request_id_and_several_questions_alone_have_none(loaded: Run) -> None:
    two = ("count(*)", "sum(spending)", "--epsilon", "0.1", "--who", "ann", "--json", "--request-id", "r")
    refused = loaded("ask", *two)
    assert (refused.status, "request_id: it names one request" in refused.err) == (1, True)
    assert shown(loaded)["spent"] == "0"
    first = loaded("ask", *two, "--batch")
    assert (first.status, loaded("ask", *two, "--batch").out) == (0, first.out)
    assert shown(loaded)["spent"] == "0.2"
