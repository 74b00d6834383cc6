"""A line for each key that does not unwrap."""

from pathlib import Path

import pytest
import typer
from rich.console import Console
from sqlalchemy import update

from kms.key_database import open_key_database, writing
from kms.key_tables import key_table
from tests.vault.projects import make_project
from vault.cli.key_faults import key_faults, say_faults


def test_whole_keys_have_no_faults(tmp_path: Path) -> None:
    assert list(key_faults(make_project(tmp_path).opened.keyring)) == []


def test_a_fault_names_the_key_the_reason_and_what_to_do(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    record = project.opened.keyring.records()[0]
    with writing(open_key_database(project.policy.keys_url)) as connection:
        row = key_table.c.key_id == record.key_id
        connection.execute(update(key_table).where(row).values(wrapped=bytes(60)))
    (fault,) = key_faults(project.opened.keyring)
    assert fault.startswith(f"key {record.key_id.hex()} (data 1) does not unwrap: ")
    assert "does not authenticate" in fault
    assert "from a backup" in fault


def test_what_is_said_ends_with_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    say_faults(Console(), [])
    with pytest.raises(typer.Exit) as ended:
        say_faults(Console(), ["one [x]", "two"])
    assert ended.value.exit_code == 1
    assert capsys.readouterr().out == "wrong: one [x]\nwrong: two\n"
