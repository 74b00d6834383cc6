"""The commands that look at jobs and steer them; a real run is paused, resumed and stopped by other commands."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from tests.vault.cli.conftest import Run


def spoil(folder: Path) -> None:
    engine = create_engine(f"sqlite:///{folder / 'application.db'}")
    with engine.begin() as connection:
        connection.execute(text("UPDATE visit SET diagnosis = zeroblob(40) WHERE person = 2"))
    engine.dispose()


def test_before_any_job_there_is_nothing_to_list_or_to_steer(loaded: Run) -> None:
    assert "no job was begun" in loaded("jobs", "list").out
    assert loaded("jobs", "failed").out == "no row is listed\n"
    refused = loaded("jobs", "pause")
    assert (refused.status, "no such job runs now" in refused.err) == (1, True)


def test_how_jobs_ended_and_what_they_left_is_listed(
    loaded: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(tmp_path)
    loaded("rotate")
    assert loaded("reencrypt").status == 3
    told = loaded("jobs", "list")
    assert told.status == 0
    assert "incomplete" in told.out
    monkeypatch.setenv("COLUMNS", "40")
    assert loaded("jobs", "list").out == told.out, "no cell is cut off where the terminal is narrow"
    (job,) = [json.loads(line) for line in loaded("jobs", "list", "--json").out.splitlines()]
    assert (job["job"], job["table_name"], job["state"], job["rewritten"], job["failed"]) == (
        "reencrypt",
        "visit",
        "incomplete",
        3,
        1,
    )
    assert "reencrypt visit [2, 1] diagnosis: these bytes are not a sealed value" in loaded("jobs", "failed").out
    (left,) = [json.loads(line) for line in loaded("jobs", "failed", "visit", "--json").out.splitlines()]
    assert (left["row_key"], left["column_name"]) == ("[2, 1]", "diagnosis")
    assert loaded("jobs", "failed", "other").out == "no row is listed\n"
    assert loaded("jobs", "failed", "other", "--json").out == ""


@contextmanager
def running(folder: Path, *words: str) -> Iterator["subprocess.Popen[str]"]:
    """`noisevault reencrypt` at so slow a rate that others have the time to steer it."""
    command = [sys.executable, "-c", "from vault.cli import main; main()", "reencrypt", *words]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    with subprocess.Popen(
        command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def state(run: Run) -> str:
    lines = run("jobs", "list", "--json").out.splitlines()
    return str(json.loads(lines[0])["state"]) if lines else ""


def until(run: Run, wanted: str) -> None:
    end = time.monotonic() + 60
    while state(run) != wanted:
        assert time.monotonic() < end, state(run)
        time.sleep(0.1)


def test_a_run_is_paused_resumed_and_stopped_and_goes_on_later(loaded: Run, tmp_path: Path) -> None:
    loaded("rotate")
    with running(tmp_path, "--rows-per-second", "0.5", "--json") as process:
        until(loaded, "running")
        second = loaded("reencrypt")
        assert (second.status, "is run by another process now" in second.err) == (1, True)
        assert "asked to pause" in loaded("jobs", "pause", "visit").out
        until(loaded, "paused")
        assert loaded("jobs", "resume").status == 0
        until(loaded, "running")
        assert loaded("jobs", "stop", "--job", "reencrypt").status == 0
        out, err = process.communicate(timeout=60)
    assert process.returncode == 4, err
    assert "go on by the same command" in err
    kinds = [json.loads(line)["event"] for line in out.splitlines()]
    assert kinds[0] == "began"
    assert kinds.count("held") == 2
    assert kinds[-1] == "ended"
    assert state(loaded) == "stopped"
    assert loaded("reencrypt").status == 0


def test_a_run_that_was_killed_is_told_from_one_that_lives(loaded: Run, tmp_path: Path) -> None:
    loaded("rotate")
    with running(tmp_path, "--rows-per-second", "0.5") as process:
        until(loaded, "running")
        process.kill()
    told = loaded("jobs", "list")
    assert "silent" not in told.out, "it was heard of within this minute"
    engine = create_engine(f"sqlite:///{tmp_path / 'application.db'}")
    with engine.begin() as connection:
        connection.execute(text("UPDATE noisevault_job SET changed_at = '2026-01-01T00:00:00.000000+00:00'"))
    engine.dispose()
    told = loaded("jobs", "list")
    assert "running, silent" in told.out
    assert "the same command goes on with it" in told.out
    assert [json.loads(line)["silent"] for line in loaded("jobs", "list", "--json").out.splitlines()] == [True]
    assert loaded("reencrypt").status == 0
    assert "silent" not in loaded("jobs", "list").out


def test_ctrl_c_ends_a_run_after_the_batch_in_hand(loaded: Run, tmp_path: Path) -> None:
    loaded("rotate")
    with running(tmp_path, "--rows-per-second", "0.5") as process:
        until(loaded, "running")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 4, err
    assert "stopped before the end" in out
    assert "stopped after the batch in hand; go on by the same command" in err
    assert state(loaded) == "stopped"
