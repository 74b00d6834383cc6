"""What goes wrong anywhere ends as one line, without a value, and a status that is not zero."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

import vault
from tests.servers.databases import SERVERS
from tests.vault.cli.conftest import Run
from tests.vault.projects import write_policy

COMMANDS = ("init", "import", "find", "show", "keys", "rotate", "reencrypt", "jobs", "ask", "budget", "check", "demo")


def test_every_command_is_there_and_explains_itself(run: Run) -> None:
    told = run("--help").out
    for command in COMMANDS:
        assert command in told
        assert run(command, "--help").status == 0


def test_the_version_is_said(run: Run) -> None:
    said = run("--version")
    assert (said.status, said.err) == (0, "")
    assert said.out == f"noisevault {version('noisevault')}\n"


def test_a_database_that_cannot_be_reached_is_told_with_the_drivers_reason(loaded: Run, tmp_path: Path) -> None:
    write_policy(tmp_path, "postgresql+psycopg://nobody@127.0.0.1:1/none")
    refused = loaded("show")
    assert (refused.status, refused.out, refused.err.count("\n")) == (1, "", 1)
    assert "the database of the data does not answer (" in refused.err
    assert "refused" in refused.err.partition("(")[2]


@pytest.mark.parametrize("driver", ["postgresql+psycopg", "mysql+pymysql"])
def test_no_part_of_a_password_is_told_with_it(loaded: Run, tmp_path: Path, driver: str) -> None:
    write_policy(tmp_path, f"{driver}://nobody:first@second@127.0.0.1:1/none")
    refused = loaded("show")
    assert refused.status == 1
    assert "%40" in refused.err
    assert "second" not in refused.out + refused.err


def test_wrong_words_have_status_2(run: Run) -> None:
    assert run("nobody").status == 2
    assert run("ask").status == 2


@pytest.mark.parametrize(
    ("wrong", "right", "key"),
    [
        ('colour = "blue"\n[dataset.visits]', "[dataset.visits]", "colour"),
        ("lower = 200", "lower = 0", "bounds.spending"),
        ('unit = "nobody"', 'unit = "person"', "dataset.visits.unit"),
        ('key = ["person", "nobody", "year"]', 'key = ["person", "year"]', "table.visit.key"),
        ('lifetime_epsilon = "nan"', 'lifetime_epsilon = "1"', "dataset.visits.lifetime_epsilon"),
        ('normalise = "nobody"', 'normalise = "digits"', "normalise"),
    ],
)
def test_a_fault_of_the_policy_is_named_by_its_key(run: Run, tmp_path: Path, wrong: str, right: str, key: str) -> None:
    policy = write_policy(tmp_path)
    policy.write_text(policy.read_text().replace(right, wrong))
    refused = run("init")
    assert refused.status == 1
    assert key in refused.err
    assert refused.err.count("\n") == 1
    assert not (tmp_path / "kek").exists()
    assert not list(tmp_path.glob("*.db"))


def test_a_wrong_key_file_is_told_from_a_damaged_one(loaded: Run, tmp_path: Path) -> None:
    key = (tmp_path / "kek").read_text()
    (tmp_path / "kek").write_text(key[::-1].strip())
    wrong = loaded("show")
    assert (wrong.status, wrong.err.count("\n"), wrong.out) == (1, 1, "")
    (tmp_path / "kek").write_text(key.strip()[:-1])
    damaged = loaded("show")
    assert "64" in damaged.err
    assert damaged.err != wrong.err
    assert key.strip()[:20] not in wrong.err + damaged.err


def test_a_key_file_that_others_can_read_is_refused(loaded: Run, tmp_path: Path) -> None:
    (tmp_path / "kek").chmod(0o644)
    refused = loaded("show")
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert "chmod" in refused.err


@pytest.mark.parametrize("file", ["keys.db", "ledger.db"])
def test_a_database_of_another_version_is_refused(loaded: Run, tmp_path: Path, file: str) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / file}")
    with engine.begin() as connection:
        connection.execute(text("UPDATE noisevault_schema SET version = 99"))
    refused = loaded("ask", "count(*)", "--epsilon", "0.5")
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert "99" in refused.err


@pytest.mark.parametrize("file", ["application.db", "keys.db", "ledger.db"])
def test_a_file_that_is_gone_is_named_and_not_made_empty(loaded: Run, tmp_path: Path, file: str) -> None:
    (tmp_path / file).unlink()
    for words in (("check",), ("ask", "count(*)", "--epsilon", "0.5")):
        refused = loaded(*words)
        assert (refused.status, refused.out, refused.err.count("\n")) == (1, "", 1)
        assert str(tmp_path / file) in refused.err
        assert not (tmp_path / file).exists()


def test_a_database_that_is_missing_its_table_says_init(run: Run, tmp_path: Path) -> None:
    write_policy(tmp_path)
    run("init")
    (tmp_path / "application.db").unlink()
    assert "noisevault init" in run("show").err


def test_a_terminal_that_knows_ascii_alone_gets_the_answer_that_was_paid_for(loaded: Run, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", "from vault.cli import main; main()", "ask", "count(*) by site", "--epsilon", "0.5"],
        cwd=tmp_path,
        env={"PYTHONIOENCODING": "ascii", "PYTHONPATH": str(Path(vault.__file__).parents[1]), "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "0.5 of 1 spent" in ran.stdout


UNDEFINED_COLUMN = {"postgres": "42703", "mariadb": "42S22"}


@pytest.mark.parametrize("server", SERVERS)
def test_what_a_server_refuses_is_told_by_its_sqlstate(
    run: Run, tmp_path: Path, request: pytest.FixtureRequest, server: str
) -> None:
    url = request.getfixturevalue(f"{server}_url")
    write_policy(tmp_path, url)
    assert run("init").status == 0
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE visit DROP COLUMN site"))
    refused = run("show")
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert f"SQLSTATE {UNDEFINED_COLUMN[server]}" in refused.err
