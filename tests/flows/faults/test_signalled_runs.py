"""Runs that are asked to end by signals, and runs that sleep for longer than their silence while another takes over."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import make_url, select, update

from tests.flows.faults.runs import RENEWING, TOLD, Freeze, run, run_to_the_end
from tests.flows.faults.visits import Place, as_first, first_state, key_ids, make_visits, require_whole, rotate
from tests.pairwise import covering_params
from tests.servers.databases import DATABASES
from tests.warm_commands import warm_program
from vault.jobs.job_tables import job_table_of_jobs, quarantine_table
from vault.rows.raw_table import raw_table

ROWS, SLEPT = 300, 120
NOISEVAULT = [sys.executable, "-c", "from vault.cli import main; main()"]


@pytest.mark.parametrize(
    ("database_url", "number"),
    covering_params(DATABASES, [signal.SIGINT, signal.SIGTERM], together=1),
    indirect=["database_url"],
)
def test_the_command_ends_after_the_batch_in_hand_and_goes_on_later(
    tmp_path: Path, database_url: str, number: signal.Signals
) -> None:
    project = make_visits(tmp_path, database_url, ROWS)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    subprocess.run([warm_program(), "init"], cwd=tmp_path, env=environment, check=True, capture_output=True, timeout=60)
    key_id = rotate(project)
    slow = [*NOISEVAULT, "reencrypt", "--rows-per-second", "40", "--rows-a-batch", "10", "--json"]
    with subprocess.Popen(
        slow, cwd=tmp_path, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        told = [json.loads(process.stdout.readline()) for _ in range(3)]
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 4, err
    assert "go on by the same command" in err
    told += [json.loads(line) for line in out.splitlines()]
    assert told[-1]["outcome"] == "stopped"
    written = told[-1]["rewritten"]
    assert 0 < written < ROWS
    assert len(key_ids(project)) == 2, "each row is under the one or the other"
    again = subprocess.run(
        [warm_program(), "reencrypt", "--json"],
        cwd=tmp_path,
        env=environment,
        text=True,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert again.returncode == 0, again.stderr
    told = [json.loads(line) for line in again.stdout.splitlines()]
    assert (told[0]["resumed"], told[0]["seen"], told[-1]["rewritten"]) == (True, written, ROWS - written)
    require_whole(project, as_first(ROWS), key_id)
    project.close()


# It sleeps when it has read a page; and when it holds rows, before it knows whether the job is still its own. On SQLite
# whoever holds rows holds all, so there it sleeps before that.
HOLDING = {
    "postgresql": Freeze("UPDATE visit", 3),
    "mysql": Freeze("SET STATEMENT innodb_lock_wait_timeout", 3),
    "sqlite": Freeze("BEGIN IMMEDIATE", 5, after=False),
}


@pytest.mark.parametrize("moment", ["reading", "writing"])
def test_who_slept_for_longer_than_its_silence_undoes_nothing(tmp_path: Path, database_url: str, moment: str) -> None:
    """Meanwhile another takes over, and services write what the sleeper has read."""
    freeze = Freeze(RENEWING) if moment == "reading" else HOLDING[make_url(database_url).get_backend_name()]
    project, place = make_visits(tmp_path, database_url, SLEPT), Place(tmp_path)
    table = project.table("visit")
    key_id = rotate(project)
    allowed = dict(as_first(SLEPT))
    with run(replace(place, refresh=False), 20, beat=30.0, freeze=freeze) as sleeper:
        sleeper.until_stopped()
        status, second = run_to_the_end(place, 20, passes=2)
        held = second.told("ended")[-1]["remaining"]
        # A batch may have been made smaller: on a busy machine transactions take long.
        assert held <= 20
        assert status == (3 if held else 0), second.told("refused")
        assert held == 0 or moment == "writing"
        for person in range(SLEPT) if not held else ():
            state = first_state(person)[0], "written while it slept"
            with project.engine.begin() as connection:
                changed = update(table).where(table.c.person == person, table.c.year == 1)
                connection.execute(changed.values(diagnosis=state[1]))
            allowed[person] = [state]
        before = job_row(project)
        sleeper.send(signal.SIGCONT)
        assert sleeper.end() == 1
        assert "is run by another process now" in sleeper.message
        assert job_row(project) == before, "it wrote nothing under a mark that it had lost"
    status, third = run_to_the_end(place, 20)
    assert status == 0, third.told("proved")
    assert third.told("ended")[-1]["rewritten"] == held
    require_whole(project, allowed, key_id)
    project.close()


def job_row(project: object) -> dict[str, object]:
    with project.engine.connect() as connection:  # type: ignore[attr-defined]
        return dict(connection.execute(select(job_table_of_jobs)).mappings().one())


def test_who_slept_lets_go_of_no_row_that_another_has_listed(tmp_path: Path, database_url: str) -> None:
    """It sleeps when its pass is through, before it takes out of the quarantine what it did not find again."""
    project, place = make_visits(tmp_path, database_url, SLEPT), Place(tmp_path)
    raw = raw_table(project.table("visit"))
    rotate(project)
    with run(replace(place, refresh=False), 20, beat=30.0, freeze=Freeze(TOLD, SLEPT // 20)) as sleeper:
        sleeper.until_stopped()
        with project.engine.begin() as connection:
            connection.execute(update(raw).where(raw.c.person == 7).values(diagnosis=bytes(50)))
        rotate(project)
        status, second = run_to_the_end(place, 20)
        assert (status, second.told("ended")[-1]["failed"]) == (3, 1)
        assert listed(project) == ["[7, 1]"]
        sleeper.send(signal.SIGCONT)
        assert sleeper.end() == 1
        assert "is run by another process now" in sleeper.message
        assert listed(project) == ["[7, 1]"]
    project.close()


def listed(project: object) -> list[str]:
    with project.engine.connect() as connection:  # type: ignore[attr-defined]
        return list(connection.scalars(select(quarantine_table.c.row_key)))


def test_who_falls_asleep_in_a_commit_still_has_the_job_and_the_others_say_what_they_wait_for(
    tmp_path: Path, database_url: str
) -> None:
    """It holds the job's own row; nobody can know that it does not go on, and when it does, it is still the one."""
    url = f"{database_url}?timeout=0.2" if database_url.startswith("sqlite") else database_url
    project, place = make_visits(tmp_path, url, SLEPT), Place(tmp_path)
    key_id = rotate(project)
    with run(replace(place, refresh=False), 50, beat=30.0, freeze=Freeze("UPDATE noisevault_job", 2)) as sleeper:
        sleeper.until_stopped()
        status, second = run_to_the_end(place, patience=1.0)
        assert status == 1
        assert "is held by somebody else" in second.message
        assert second.told("waiting")
        sleeper.send(signal.SIGCONT)
        assert sleeper.end() == 0, sleeper.told("refused")
    require_whole(project, as_first(SLEPT), key_id)
    project.close()
