"""What docs/budget.md shows is typed in its order, on the policy as the page has it, and gives what the page says."""

import json
import re
import shlex
from fractions import Fraction
from math import exp, sqrt
from pathlib import Path

import pytest

from tests.vault.cli.conftest import Run
from vault.policy import DatasetPolicy, Policy
from vault.policy.allowance import Group

PAGE = (Path(__file__).parents[2] / "docs" / "budget.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
SECTION = re.compile(r"^(?=\[)", re.MULTILINE)
NOISY = ("┏", "┃", "┡", "│", "└")


def put(path: Path, block: str) -> None:
    """Each section in the place of the one with the same head, or at the end."""
    sections = SECTION.split(path.read_text(encoding="utf-8")) if path.exists() else []
    for new in SECTION.split(block):
        at = next((n for n, one in enumerate(sections) if one.split("\n")[0] == new.split("\n")[0]), len(sections))
        sections[at:] = [new.rstrip() + "\n\n", *sections[at + 1 :]]
    path.write_text("".join(sections), encoding="utf-8")


def comparable(text: str, folder: Path) -> str:
    """Without what is another each time: noise and the width that it needs, moments, ids, the folder."""
    lines = [line.strip() for line in text.replace(str(folder), "/srv/clinic").splitlines()]
    kept = " ".join(" ".join(line for line in lines if not line.startswith(NOISY)).split())
    kept = re.sub(r"20\d\d-\d\d-\d\d \d\d:\d\d UTC", "MOMENT", kept)
    return re.sub(r"active data key [0-9a-f]{8}", "active data key ID", kept)


def rows(heading: str) -> list[list[str]]:
    section = PAGE[PAGE.index(f"## {heading}") :].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_command_gives_what_the_page_says(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    typed = 0
    for kind, block in BLOCK.findall(PAGE):
        if kind == "toml":
            put(tmp_path / "noisevault.toml", block)
        elif kind == "csv":
            (tmp_path / "visits.csv").write_text(block, encoding="utf-8")
        else:
            for one in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, said = one.split("\n", 1)
                ended = run(*shlex.split(command)[1:])
                assert comparable(ended.out + ended.err, tmp_path) == comparable(said, tmp_path), command
                typed += 1
    assert typed >= 15
    told = {name for name, _ in re.findall(r"`noisevault (\w+(?: \w+)?)( --.*)?`", PAGE)}
    assert told <= {"init", "ask", "check", "budget", "budget apply", "maintain", "audit show"}
    changes = run("audit", "show", "--kind", "policy")
    assert (changes.status, "the board approved" in " ".join(changes.out.split())) == (0, True)


def test_every_line_of_the_policy_that_is_named_exists() -> None:
    keys = {field.alias or name for name, field in DatasetPolicy.model_fields.items()} | set(Group.model_fields)
    named = {key for row in rows("What each budget is for") for key in re.findall(r"`([a-z_]+)", row[0])}
    assert named - keys == set(Policy.model_fields) & named == {"lifetime"}
    assert len(named) == 9


@pytest.mark.parametrize(("amount", "year", "sure"), rows("Windows that refill"))
def test_what_a_window_allows_in_a_year_is_computed(amount: str, year: str, sure: str) -> None:
    each, span = amount.split(" a ")
    in_a_year = Fraction(each) * {"day": 365, "week": 52, "month": 12, "quarter": 4}[span]
    assert in_a_year == Fraction(year)
    assert round(100 / (1 + exp(-in_a_year)), 1) == float(sure.removesuffix(" %"))


@pytest.mark.parametrize(("questions", "epsilon", "each", "average"), rows("Asking again"))
def test_what_averaging_gains_is_computed(questions: str, epsilon: str, each: str, average: str) -> None:
    """The deviation of the discrete Laplace distribution of scale b, and of a mean of so many draws."""
    a = exp(-float(epsilon) / 3)
    deviation = sqrt(2 * a) / (1 - a)
    assert Fraction(epsilon) * int(questions) == 1
    for told, exact in ((each, deviation), (average, deviation / sqrt(int(questions)))):
        number = told.removesuffix(" rows")
        assert float(number) == round(exact, len(number.partition(".")[2]))


def test_as_json_every_amount_is_exact_text(run: Run, tmp_path: Path) -> None:
    put(tmp_path / "noisevault.toml", next(block for kind, block in BLOCK.findall(PAGE) if kind == "toml"))
    assert run("init").status == 0
    said = json.loads(run("budget", "--json").out)
    assert (said["lifetime"], said["scopes"][0]["cap"]) == ("3", "0.5")
