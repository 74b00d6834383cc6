"""What docs/watching.md shows is run as it stands there, and its table names every code and option."""

import re
import shlex
from pathlib import Path

from tests.vault.cli.conftest import Run
from vault.duration import show_exactly
from vault.watching.thresholds import DEFAULTS
from vault.watching.warning import percent
from vault.watching.watch import CODES

PAGE = (Path(__file__).parents[2] / "docs" / "watching.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ noisevault (.*)$", PAGE, re.MULTILINE)


def test_every_command_of_the_page_runs(loaded: Run) -> None:
    loaded("ask", "count(*)", "--epsilon", "0.1", "--who", "ann")
    loaded("ask", "count(*) where person != 93", "--epsilon", "0.1", "--who", "ann")
    assert len(COMMANDS) == 4
    for command in COMMANDS:
        ended = loaded(*shlex.split(command))
        assert (ended.status, ended.err) == (0, ""), command
        assert ended.out.startswith(("differ-by-few: ann asked 2 questions", '{"code": "differ-by-few"')), command


def test_the_table_names_every_code_and_every_option(run: Run) -> None:
    assert tuple(re.findall(r"^\| `([a-z-]+)` \|", PAGE, re.MULTILINE)) == CODES
    shown = run("audit", "watch", "--help").out
    options = set(re.findall(r"--[a-z-]+", shown)) - {"--help", "--policy", "--models"}
    assert {option for option in options if f"{option}" not in PAGE} == set()


def test_the_defaults_are_those_of_the_page_and_of_the_help(run: Run) -> None:
    shown = " ".join(run("audit", "watch", "--help").out.split())
    for number in (f"at most {percent(DEFAULTS.single)} of what", f"at most {percent(DEFAULTS.tiny)} of the dataset's"):
        assert number in PAGE
    assert f"{DEFAULTS.near_count} questions or more" in PAGE
    assert f"made {DEFAULTS.tiny_count} charges or more within a day" in PAGE
    assert f"at least {percent(DEFAULTS.full)} of a budget" in PAGE
    assert f"quarter {DEFAULTS.full_windows} times in a row" in PAGE
    for default in (DEFAULTS.tiny, DEFAULTS.single, DEFAULTS.full):
        assert f"{float(default):g} by default" in shown
    assert f"{show_exactly(DEFAULTS.tiny_within)} by default" in shown
