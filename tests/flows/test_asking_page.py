"""What docs/asking.md shows is run as it stands there, and what it says is one question, or none, is that."""

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.vault.cli.conftest import Run
from vault.policy import Policy
from vault.question import QuestionError, admit, parse
from vault.question.grammar import NAMES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "asking.md").read_text(encoding="utf-8")
EXAMPLE = (ROOT / "vault/demonstration/example.toml").read_text(encoding="utf-8")
(ADDED, UNKNOWN) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = re.findall(r"^\$ (noisevault ask .*)$", PAGE, re.MULTILINE)
LOOKING = re.findall(r"^\$ (noisevault (?:preview|plan) .*)$", PAGE, re.MULTILINE)
POLICY = Policy.read(EXAMPLE + ADDED, Path("/srv"))


def table(heading: str) -> list[list[str]]:
    lines = PAGE[PAGE.index(f"## {heading}") :].split("\n## ")[0].splitlines()
    rows = [re.split(r"\s\|\s", line.strip("| ")) for line in lines if line.startswith("| `")]
    assert rows
    return rows


def quoted(cell: str) -> str:
    return cell.strip("`")


def test_every_command_of_the_page_runs_on_the_example_with_its_lines(run: Run, tmp_path: Path) -> None:
    assert run("init", "--example").status == 0
    policy = tmp_path / "noisevault.toml"
    policy.write_text(policy.read_text(encoding="utf-8") + ADDED, encoding="utf-8")
    (people,) = re.findall(r"```csv\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "people.csv").write_text(people, encoding="utf-8")
    assert run("init").status == run("import", "people.csv").status == 0
    assert len(COMMANDS) >= 7
    for command in COMMANDS:
        program, *words = shlex.split(command)
        ended = run(*words)
        assert (program, ended.status, ended.err) == ("noisevault", 0, ""), command
    (questions,) = re.findall(r"^```\n(# the quarter's.*?)```", PAGE, re.DOTALL | re.MULTILINE)
    (tmp_path / "questions.txt").write_text(questions, encoding="utf-8")
    assert len(LOOKING) >= 5
    for command in LOOKING:
        ended = run(*shlex.split(command)[1:])
        assert (ended.status, ended.err) == (0, ""), command
    spent = json.loads(run("budget", "--json").out)["spent"]
    assert spent == f"{(len(COMMANDS) - 1) / 10:g}", "the expression that is written out is a repeat"


def test_every_aggregate_of_the_table_can_be_asked() -> None:
    written = [quoted(row[0]) for row in table("Aggregates")]
    for text in written:
        assert admit(parse(text), POLICY, "rand")
    assert {text.split("(")[0] for text in written} | {"avg", "average", "var", "stddev"} == set(NAMES)
    for name in ("avg", "var", "stddev"):
        assert f"`{name}` is the same" in PAGE
    for name in ("median", "low", "high"):
        (row,) = [row for row in table("Aggregates") if quoted(row[0]).startswith(name)]
        (meant,) = re.findall(r"`(quantile.*?)`", row[1])
        assert parse(meant) == parse(quoted(row[0]))


def test_what_is_one_question_has_one_text() -> None:
    for row in table("One question in other words"):
        one, other = (admit(parse(quoted(cell)), POLICY, "rand").canonical() for cell in row)
        assert one == other
    assert parse("sum((a + b) + c)") != parse("sum(a + (b + c))")


@pytest.mark.parametrize(("question", "because"), table("What is refused"))
def test_what_is_refused_is_refused_because_of_that(question: str, because: str) -> None:
    with pytest.raises(QuestionError) as caught:
        admit(parse(quoted(question)), POLICY, "rand")
    assert because in str(caught.value)


def test_the_case_of_the_page_is_an_expression_and_the_unknown_groups_are_a_key_of_the_policy() -> None:
    (case,) = re.findall(r"^(case when .* end)$", PAGE, re.MULTILINE)
    assert str(parse(f"sum({case})").of) == case
    surname = EXAMPLE.replace("name = {", "surname = {").replace("[dataset.rand]", f"[dataset.rand]\n{UNKNOWN}")
    policy = Policy.read(surname, Path("/srv"))
    assert admit(parse("count_units(*) by surname"), policy, "rand")
    with pytest.raises(QuestionError, match="not declared"):
        admit(parse("count(*) by surname"), policy, "rand")
