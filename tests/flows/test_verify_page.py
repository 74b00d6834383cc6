"""Every command of docs/verify.md is run, and the kinds that it explains are those that there are."""

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.vault.cli.conftest import Run
from vault.jobs.events import NAMES
from vault.jobs.verifying.finding import FindingKind

PAGE = (Path(__file__).parents[2] / "docs" / "verify.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
COMMANDS = [line for block in BLOCKS for line in block.splitlines()]
# Commands that are named within the text.
NAMED = re.findall(r"`(noisevault [\w -]+)`", PAGE)
KEY_ID = "9692ad97"


@pytest.mark.parametrize("command", list(dict.fromkeys([*COMMANDS, *NAMED])))
def test_every_command_of_the_page_runs(loaded: Run, command: str) -> None:
    program, *words = shlex.split(command)
    assert program == "noisevault"
    keys = json.loads(loaded("keys", "list", "--json").out)
    done = loaded(*(keys[0]["key_id"] if word == KEY_ID else word for word in words))
    assert (done.status, done.err) == (0, ""), command


def test_the_page_has_commands() -> None:
    assert len(COMMANDS) >= 8
    assert PAGE.count("```") == 2 * len(BLOCKS)


def test_every_kind_of_finding_and_event_is_explained() -> None:
    first_cells = ", ".join(line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| "))
    assert {kind for kind in FindingKind if kind.value not in first_cells} == set()
    said = PAGE[PAGE.index("`--json` gives one event a line") :]
    told = {"began", "advanced", "row-wrong", "waiting", "held", "verified"}
    assert told <= set(NAMES.values())
    assert all(f"`{name}`" in said for name in told)
