"""What docs/jobs.md shows is run as it stands there, and gives what it says."""

import doctest
import json
import re
import shlex
from pathlib import Path

import pytest

from tests.vault.cli.conftest import Run
from tests.vault.cli.test_jobs import running, state, until
from tests.vault.mapping.conftest import new_vault
from vault.cli import reencrypting
from vault.jobs.events import NAMES
from vault.jobs.left_rows import FREE, LOCKED, MOVING

PAGE = Path(__file__).parents[2] / "docs" / "jobs.md"
TEXT = PAGE.read_text(encoding="utf-8")
SHELL = [block.splitlines() for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)]


def words(line: str) -> list[str]:
    program, *rest = shlex.split(line)
    assert program == "noisevault"
    return rest


def test_the_commands_of_the_page_run_in_order(loaded: Run) -> None:
    ended = [loaded(*words(line)) for line in SHELL[0]]
    assert [one.status for one in ended] == [0] * len(SHELL[0]), ended
    assert "4 rows would be rewritten" in ended[1].out
    assert "4 rows rewritten" in ended[2].out
    assert json.loads(ended[3].out.splitlines()[-1])["event"] == "ended"
    assert "complete" in ended[4].out


def test_a_run_is_steered_as_the_page_says(loaded: Run, tmp_path: Path) -> None:
    loaded("rotate")
    with running(tmp_path, "--rows-per-second", "0.5") as process:
        until(loaded, "running")
        for line, then in zip(SHELL[1], ("paused", "running", "stopped"), strict=True):
            assert loaded(*words(line)).status == 0
            until(loaded, then)
        process.communicate(timeout=60)
    assert process.returncode == 4
    assert state(loaded) == "stopped"


def test_the_program_of_the_page_gives_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    opened = new_vault(tmp_path)
    test = doctest.DocTestParser().get_doctest(block, {"opened": opened}, "page", str(PAGE), 0)
    told: list[str] = []
    assert test.examples
    doctest.DocTestRunner(optionflags=doctest.FAIL_FAST).run(test, out=told.append, clear_globs=False)
    assert not told, "".join(told)
    test.globs["engine"].dispose()
    opened.close()


def test_every_option_and_every_event_is_on_the_page(run: Run) -> None:
    options = set(re.findall(r"--[a-z-]+", run("reencrypt", "--help").out)) - {"--help", "--policy", "--models"}
    rows = re.findall(r"^\| (`--[^|]*)\|", TEXT, re.MULTILINE)
    assert options == {name for row in rows for name in re.findall(r"--[a-z-]+", row)}
    events = TEXT[TEXT.index("## Events") : TEXT.index("## From Python")]
    assert set(re.findall(r"^\| `([a-z-]+)` \| [^|]", events, re.MULTILINE)) - {"event"} == set(NAMES.values())
    for event in NAMES:
        for member in set(event.__dataclass_fields__) - {"job", "table"}:
            assert f"`{member}`" in TEXT, (event, member)


def test_each_job_has_the_options_that_the_page_says_and_no_other_of_its_table(run: Run) -> None:
    table = TEXT[: TEXT.index("This page is about")]
    rows = re.findall(r"^\| (`[a-z`, ]+`) \| .* \| (.*) \|$", table, re.MULTILINE)
    assert len(rows) == 4
    whole = set(re.findall(r"--[a-z-]+", run("reencrypt", "--help").out))
    for commands, told in rows:
        for command in re.findall(r"`(.*?)`", commands):
            has = set(re.findall(r"--[a-z-]+", run(command, "--help").out)) & whole
            assert has - {"--help", "--policy", "--models"} == (
                whole - {"--help", "--policy", "--models"} if told == "all" else set(re.findall(r"--[a-z-]+", told))
            ), command
    for command in ("reencrypt", "reindex", "backfill", "restore", "clear", "verify", "mode"):
        assert "Exit status: " in " ".join(run(command, "--help").out.split()), command


def test_every_reason_that_a_row_is_left_is_on_the_page() -> None:
    for reason in (FREE, LOCKED, MOVING):
        assert f"| {reason} |" in TEXT


def test_the_defaults_that_the_page_names_are_the_program_s() -> None:
    settings = reencrypting.DEFAULT
    assert (settings.pace.target_seconds, settings.pace.least_rows, settings.pace.most_rows) == (0.25, 10, 25_000)
    assert (settings.lock_seconds, settings.patience, settings.silence, settings.passes, settings.tries) == (
        1.0,
        120.0,
        10.0,
        5,
        5,
    )
