"""Modes of migrating fields after the data or the key store was put back, and what sets them right."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.vault.cli.conftest import Run
from tests.vault.cli.test_migrating import to
from tests.vault.restoration.copies import copy_of, kinds, looked, put_back

FIELD = "client.mail_sealed"
KEYS = "application.keys.db"


@pytest.fixture
def client(moving: Run, tmp_path: Path) -> Run:
    """A migrating field in mode dual-read-plaintext, its copies from before the backfill, and the backfill proved."""
    assert to(moving, "dual-read-plaintext").status == 0
    copy_of(tmp_path, "application.db", "data.copy")
    copy_of(tmp_path, KEYS, "keys.copy")
    assert "proved" in moving("backfill", FIELD, "--after-lease").out
    assert looked(moving, status=0)["well"]
    return moving


def sealed_only(run: Run) -> None:
    assert to(run, "dual-read-sealed").status == 0
    assert to(run, "sealed-only").status == 0
    assert "refuses new ones" in run("clear", FIELD, "--after-lease").out


def test_a_mode_that_went_back_is_told_and_set_right_without_a_value_lost(client: Run, tmp_path: Path) -> None:
    sealed_only(client)
    assert looked(client, status=0)["well"]
    put_back(tmp_path, KEYS, "keys.copy")
    report = looked(client)
    assert "mode went back" in kinds(report)
    assert any("run no noisevault backfill" in step and "2 sealed values" in step for step in report["steps"])
    by_sql(tmp_path, MODE_BACK)
    assert "mode went back" not in kinds(looked(client))
    assert '"Ann@x"' in client("find", "mail_sealed", "ann@x", "--json").out


def test_a_mode_that_is_ahead_is_told_and_taken_back_without_a_value_lost(client: Run, tmp_path: Path) -> None:
    sealed_only(client)
    put_back(tmp_path, "application.db", "data.copy")
    report = looked(client)
    assert "mode is ahead" in kinds(report)
    assert any("run no noisevault restore" in step and "2 plaintexts" in step for step in report["steps"])
    assert to(client, "dual-read-sealed").status == 0
    by_sql(tmp_path, MODE_AHEAD)
    done = client("backfill", FIELD, "--after-lease")
    assert (done.status, "2 rows written" in done.out, "proved" in done.out) == (0, True, True), done.out + done.err
    assert looked(client, status=0)["well"]
    sealed_only(client)
    assert '"Ann@x"' in client("find", "mail_sealed", "ann@x", "--json").out


def test_a_proof_of_data_that_went_back_is_told_before_a_step_relies_on_it(client: Run, tmp_path: Path) -> None:
    put_back(tmp_path, "application.db", "data.copy")
    assert kinds(looked(client)) == {"proof does not hold"}
    assert "proved" in client("backfill", FIELD, "--after-lease").out
    assert looked(client, status=0)["well"]
    assert to(client, "dual-read-sealed").status == 0
    assert '"Ann@x"' in client("find", "mail_sealed", "ann@x", "--json").out


PAGE = (Path(__file__).parents[3] / "docs" / "restore.md").read_text(encoding="utf-8")
MODE_BACK, MODE_AHEAD = re.findall(r"^ *```sql\n(.*?)^ *```", PAGE, re.DOTALL | re.MULTILINE)


def by_sql(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / KEYS)) as keys, keys:
        assert keys.execute(statement).rowcount == 1
