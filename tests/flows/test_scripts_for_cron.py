"""scripts/rotate_keys, reencrypt, backfill and verify: as cron starts them, with the exit status of the command."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.vault.cli.conftest import Run
from tests.vault.cli.test_jobs import spoil
from tests.vault.cli.test_rotating import pass_time, states
from tests.warm_commands import warm_program

ROOT = Path(__file__).parents[2]
SCRIPTS = ("rotate_keys", "reencrypt", "backfill", "verify")
PAGE = (ROOT / "docs" / "maintain.md").read_text(encoding="utf-8")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """What stands where `noisevault` is installed."""
    path = tmp_path / "program"
    path.write_text(f'#!/bin/sh\nexec {warm_program()} "$@"\n')
    path.chmod(0o700)
    return path


def started(folder: Path, program: Path, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
    """With nothing in the environment but what cron has."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "NOISEVAULT_PROGRAM": str(program)} | more
    script = [str(ROOT / "scripts" / words[0]), *words[1:]]
    return subprocess.run(script, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_the_commands_of_the_page_run(loaded: Run, tmp_path: Path, program: Path) -> None:
    lines = [line for line in PAGE.splitlines() if line.startswith("scripts/")]
    assert len(lines) >= 3
    for line in lines:
        done = started(tmp_path, program, *shlex.split(line.removeprefix("scripts/")))
        assert (done.returncode, done.stderr) == (0, ""), line


def test_a_key_that_is_due_is_rotated_once(loaded: Run, tmp_path: Path, program: Path) -> None:
    pass_time(tmp_path, 91)
    assert started(tmp_path, program, "rotate_keys", "noisevault.toml").returncode == 0
    assert states(loaded) == ["deactivated", "active"]
    assert "nothing is due" in started(tmp_path, program, "rotate_keys", "noisevault.toml").stdout


def test_the_exit_status_is_the_command_s(loaded: Run, tmp_path: Path, program: Path) -> None:
    spoil(tmp_path)
    assert started(tmp_path, program, "verify", "noisevault.toml").returncode == 3
    assert started(tmp_path, program, "backfill", "noisevault.toml", "visit.diagnosis").returncode == 1
    assert started(tmp_path, program, "reencrypt", "noisevault.toml", "--often").returncode == 2


@pytest.mark.parametrize("script", SCRIPTS)
def test_without_a_policy_it_says_what_to_name(tmp_path: Path, program: Path, script: str) -> None:
    for words in ((), ("nowhere.toml",)):
        done = started(tmp_path, program, script, *words)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "NOISEVAULT_POLICY" in done.stderr


def test_the_environment_comes_from_a_file_that_others_do_not_write(loaded: Run, tmp_path: Path, program: Path) -> None:
    program.write_text('#!/bin/sh\necho "$VAULT_ADDR $(ulimit -c)"\n')
    file = tmp_path / "environment"
    file.write_text("VAULT_ADDR=https://kms.example.org\n")
    file.chmod(0o600)
    names = {"NOISEVAULT_ENVIRONMENT": str(file), "NOISEVAULT_POLICY": "noisevault.toml"}
    assert started(tmp_path, program, "verify", **names).stdout == "https://kms.example.org 0\n"
    file.chmod(0o620)
    refused = started(tmp_path, program, "verify", **names)
    assert (refused.returncode, refused.stdout) == (2, "")


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_head_tells_its_words_and_every_exit_status(script: str) -> None:
    text = (ROOT / "scripts" / script).read_text()
    head = text[: text.index("set -euo")]
    assert f"#   scripts/{script} POLICY" in head
    told = head[head.index("Exit status:") :]
    expected = {"0", "1", "2"} if script == "rotate_keys" else {"0", "1", "2", "3", "4"}
    assert set(re.findall(r"(?:: |; )(\d) ", told)) | set(re.findall(r"\b([34]) (?:rows|stopped)", told)) == expected
