"""The figures of docs/deciding.md are what they are said to be, and the keys and commands that it names exist."""

import re
import shlex
from fractions import Fraction
from math import exp
from pathlib import Path

import pytest

from dp.interval import half_width
from tests.vault.cli.conftest import Run
from vault.policy import Bounds, DatasetPolicy
from vault.policy.unknown_groups import MOST_ATTO_DELTA

PAGE = (Path(__file__).parents[2] / "docs" / "deciding.md").read_text(encoding="utf-8")
COMMANDS = set(re.findall(r"`noisevault ([a-z]+)`", PAGE))
PREVIEWS = re.findall(r"`noisevault (preview .*?)`", PAGE)


def rows(heading: str) -> list[list[str]]:
    section = PAGE[PAGE.index(heading) :].split("\n## ")[0].split("\n### ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def sure(epsilon: float) -> float:
    """How sure somebody can be, in per cent, who held it for as likely as not before."""
    return 100 / (1 + exp(-epsilon))


def told(cell: str) -> tuple[float, int]:
    """A per cent, and its decimals."""
    number = cell.removesuffix(" %")
    return float(number), len(number.partition(".")[2])


@pytest.mark.parametrize(
    "row", [(r[0], r[1]) for r in rows("## How much")] + [(r[1], r[2]) for r in rows("### A budget")]
)
def test_how_sure_anybody_can_be_is_computed(row: tuple[str, str]) -> None:
    value, decimals = told(row[1])
    assert value == round(sure(float(row[0])), decimals)


@pytest.mark.parametrize(("epsilon", "off"), rows("## What it buys"))
def test_how_far_a_count_is_off_is_computed(epsilon: str, off: str) -> None:
    exact = half_width(5 / Fraction(epsilon))
    assert abs(exact - int(off)) <= max(1, exact // 50)


def test_every_line_of_the_policy_that_is_named_exists() -> None:
    keys = {field.alias or name for name, field in DatasetPolicy.model_fields.items()} | set(Bounds.model_fields)
    named = [re.findall(r"`([a-z_]+)", row[0]) for row in rows("## Bounds")]
    assert len(named) == 5
    assert {key for found in named for key in found} <= keys
    assert {"unit", "lifetime_epsilon", "unknown", "accept_unbound"} <= keys
    assert MOST_ATTO_DELTA == 10**15, "one in a thousand is the most that is taken"


def test_every_command_that_is_named_runs(loaded: Run) -> None:
    assert {"budget", "check"} <= COMMANDS
    assert len(PREVIEWS) == 2
    for words in map(shlex.split, PREVIEWS):
        assert loaded(*words).status == 0, words
    for command in COMMANDS - {"ask"}:
        ended = loaded(command)
        assert (ended.status, ended.err) == (0, ""), command
