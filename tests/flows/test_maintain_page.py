"""What docs/maintain.md shows is run, verified or read as it stands there, and its tables name all that there is."""

import configparser
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.servers.not_run import need_program
from tests.vault.cli.conftest import Run
from tests.vault.cli.maintained import declare
from vault.maintenance.step import Outcome
from vault.policy import Policy

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "maintain.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
COMMANDS, SCRIPTS = ([b.splitlines() for kind, b in BLOCKS if kind == "sh"][n] for n in (0, 1))
SERVICE, TIMER = (block for kind, block in BLOCKS if kind == "ini")
CRON_JOB, ALERTS = (yaml.safe_load(block) for kind, block in BLOCKS if kind == "yaml")


def test_the_commands_run_in_order_and_write_the_metrics_of_the_table(loaded: Run, tmp_path: Path) -> None:
    ended = [loaded(*shlex.split(line)[1:]) for line in COMMANDS]
    assert [one.status for one in ended] == [0] * len(COMMANDS), ended
    text = (tmp_path / "noisevault.prom").read_text()
    written = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    named = set(re.findall(r"^\| `(noisevault_\w+)`", PAGE, re.MULTILINE))
    assert named - written == {"noisevault_job_left_rows"}, "of which there are none"
    assert written <= named
    assert list(text_string_to_metric_families(text))


def test_the_alerts_ask_for_metrics_that_there_are() -> None:
    named = set(re.findall(r"^\| `(noisevault_\w+)`", PAGE, re.MULTILINE))
    rules = ALERTS["groups"][0]["rules"]
    assert len(rules) == 5
    for rule in rules:
        asked = set(re.findall(r"noisevault_\w+", rule["expr"]))
        assert asked, rule
        assert asked <= named


def test_the_section_of_the_page_is_a_section(loaded: Run, tmp_path: Path) -> None:
    (block,) = (block for kind, block in BLOCKS if kind == "toml")
    declare(tmp_path, *block.splitlines()[1:])
    rules = Policy.load(tmp_path / "noisevault.toml").maintenance
    assert rules.retire
    assert not rules.destroy
    assert loaded("maintain", "--dry-run").status == 0


def test_the_units_are_what_systemd_takes(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    need_program(request.node, "systemd-analyze", "apt-get install systemd")
    service, timer = tmp_path / "noisevault-maintain.service", tmp_path / "noisevault-maintain.timer"
    # The program and the user need not be on this machine.
    here = SERVICE.replace("/usr/local/bin/noisevault", str(shutil.which("true"))).replace(
        "User=noisevault", "User=root"
    )
    service.write_text(here)
    timer.write_text(TIMER)
    told = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", service, timer],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    ours = [line for line in told.stderr.splitlines() if "noisevault-maintain" in line]
    assert (told.returncode, ours) == (0, []), told.stderr


def test_the_service_runs_the_command_and_leaves_no_dump() -> None:
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(SERVICE)
    words = shlex.split(unit["Service"]["ExecStart"])
    assert words[1:3] == ["maintain", "--for"]
    assert unit["Service"]["LimitCORE"] == "0"
    assert unit["Service"]["SuccessExitStatus"] == "4"


def test_the_cron_job_is_one_at_a_time_and_outlasts_the_window() -> None:
    spec = CRON_JOB["spec"]
    job = spec["jobTemplate"]["spec"]
    (container,) = job["template"]["spec"]["containers"]
    assert (CRON_JOB["kind"], spec["concurrencyPolicy"], job["backoffLimit"]) == ("CronJob", "Forbid", 0)
    assert job["template"]["spec"]["restartPolicy"] == "Never"
    window = container["command"][container["command"].index("--for") + 1]
    assert int(window.removesuffix("m")) * 60 < job["activeDeadlineSeconds"] < 3600
    assert container["securityContext"]["readOnlyRootFilesystem"] is True


def test_every_outcome_and_option_is_on_the_page(run: Run) -> None:
    cells = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert {outcome.value for outcome in Outcome} <= cells
    options = set(re.findall(r"--[a-z-]+", run("maintain", "--help").out)) - {"--help", "--policy", "--models"}
    assert {option for option in options if f"`{option}" not in PAGE and f" {option}" not in PAGE} == set()


def test_the_scripts_of_the_page_are_those_of_the_tests() -> None:
    assert [line.split()[0] for line in SCRIPTS] == ["scripts/rotate_keys", "scripts/reencrypt", "scripts/verify"]
