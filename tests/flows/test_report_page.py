"""What docs/report.md shows is run as it stands there, and its tables name all that a report has."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.vault.cli.conftest import Run
from tests.vault.reporting.entries import NANO, asked, at, charge, lifetime, policy, report
from vault.reporting.account import HoldsFor
from vault.reporting.json_form import in_json

PAGE = (Path(__file__).parents[2] / "docs" / "report.md").read_text(encoding="utf-8")
(BLOCK,) = re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
COMMANDS = BLOCK.splitlines()
MEMBERS = PAGE[PAGE.index("## JSON") :]
SCOPES = [["column", "age", "month", 0, 5]]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_page_runs(loaded: Run, tmp_path: Path, command: str) -> None:
    program, *words = shlex.split(command)
    assert program == "noisevault"
    done = loaded(*words)
    assert (done.status, done.err) == (0, ""), command
    written = [tmp_path / words[words.index("--out") + 1]] if "--out" in words else []
    assert bool(done.out) is not bool(written)
    assert all(path.read_text(encoding="utf-8") for path in written)


def test_a_file_of_json_is_read_by_programs(loaded: Run, tmp_path: Path) -> None:
    (command,) = (line for line in COMMANDS if line.endswith(".json"))
    loaded(*shlex.split(command)[1:])
    assert json.loads((tmp_path / "2026Q3.json").read_text())["format"] == "noisevault/1 report"


def test_every_member_is_on_the_page() -> None:
    entries = [
        policy(at(6, 1), NANO, delta=10**12),
        lifetime(at(6, 1), NANO, "visits"),
        charge(at(7, 1), 5, scopes=SCOPES),
        asked("refusal", at(7, 2)),
        {"kind": "epoch", "at": at(7, 3), "dataset": "visits", "epoch": 2, "reason": "new"},
    ]
    told = names(in_json(report(entries)))
    assert len(told) > 50
    assert {name for name in told if not re.search(rf"`(?:\w+\.)?{name}`", MEMBERS)} == set()


def names(of: Any) -> set[str]:
    """Of all members but those that are names of reasons, kinds and states, or come from an entry."""
    match of:
        case dict():
            inner = [value for name, value in of.items() if name not in {"refusals", "members", "entries", "events"}]
            return set(of).union(*map(names, inner))
        case list():
            return set().union(*map(names, of))
        case _:
            return set()


def test_what_each_figure_holds_for_is_told() -> None:
    table = PAGE[PAGE.index("| way of adding") : PAGE.index("Every figure is rounded up")]
    for way, holds in (
        ("sum of epsilon", "questions and prices chosen"),
        ("(zCDP)", "questions chosen"),
        ("(KOV)", "declared before"),
    ):
        (row,) = (line for line in table.splitlines() if line.startswith("| ") and way in line.split("|")[1])
        assert holds in row
        assert any(holds in one.value for one in HoldsFor)


def test_every_option_is_on_the_page(run: Run) -> None:
    options = set(re.findall(r"--[a-z-]+", run("report", "--help").out)) - {"--help", "--policy", "--models"}
    assert {option for option in options if option not in PAGE} == set()
