"""report: through the command, what was asked stands in every form, and no value, question or answer does."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.vault.cli.conftest import Run
from vault.reporting.quarter import Quarter

NOW = str(Quarter.of(datetime.now(UTC)))
HOSTILE = "<script>\"'|\\&"
# Of the rows, and of the questions that are asked.
SECRETS = ("asthma", "gout", "22-2", "33-3", "count(", "sum(", "mean(", "site = 1")


@pytest.fixture
def asked(loaded: Run) -> Run:
    assert loaded("ask", "count(*)", "--epsilon", "0.25", "--who", "ana").status == 0
    assert loaded("ask", "count(*)", "--epsilon", "0.25", "--who", "ben").status == 0
    assert loaded("ask", "sum(spending) where site = 1", "--epsilon", "0.5", "--who", HOSTILE).status == 0
    assert loaded("ask", "mean(spending)", "--epsilon", "0.5", "--who", "ben").status == 1
    return loaded


def told(run: Run, *words: str) -> dict[str, Any]:
    ended = run("report", "--quarter", NOW, "--format", "json", *words)
    assert ended.status == 0, ended.err
    found: dict[str, Any] = json.loads(ended.out)
    return found


def test_what_was_asked_is_told(asked: Run) -> None:
    report = told(asked)
    (visits,) = report["log"]["datasets"]
    assert report["audit"]["verified"]
    assert report["audit"]["head"]["sequence"] == sum(report["log"]["entries"].values())
    assert (visits["spent"]["epsilon"], visits["spent"]["charges"], visits["repeats"]) == ("0.75", 2, 1)
    assert visits["refusals"] == {"budget exhausted": 1}
    assert {one["analyst"]: one["epsilon"] for one in visits["analysts"]} == {"ana": "0.25", "ben": "0", HOSTILE: "0.5"}
    assert (visits["lifetime"]["epsilon"], visits["unanswered"]) == ("1", [])
    assert {key["purpose"]: key["rows"] for key in report["keys"]} == {"data": 4, "index": 4, "ledger": 0}
    assert [one["step"] for one in report["due"]] == ["verify"]


@pytest.mark.parametrize("form", ["html", "markdown", "json"])
def test_no_value_no_question_and_no_answer_is_in_it(asked: Run, form: str) -> None:
    out = asked("report", "--quarter", NOW, "--format", form).out
    assert "0.75" in out
    assert [secret for secret in SECRETS if secret in out] == []
    assert "<script>" not in out or form == "json"


def test_a_file_is_written_whole_and_nothing_is_printed(asked: Run, tmp_path: Path) -> None:
    ended = asked("report", "--quarter", NOW, "--out", "report.html")
    assert (ended.status, ended.out, ended.err) == (0, "", "")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert page.endswith("</html>\n")


def test_an_earlier_quarter_is_made_of_the_same_log(asked: Run) -> None:
    report = json.loads(asked("report", "--quarter", "2020Q1", "--format", "json").out)
    assert (report["log"]["datasets"], report["is_over"]) == ([], True)
    assert report["log"]["later_entries"] == report["audit"]["head"]["sequence"]


def test_without_a_count_rows_are_as_they_were_counted_last(asked: Run) -> None:
    assert {key["rows"] for key in told(asked, "--no-count")["keys"]} == {None}
    told(asked)
    assert {key["rows"] for key in told(asked, "--no-count")["keys"]} == {4, 0}


@pytest.mark.parametrize(("quarter", "why"), [("2026", "2026Q3"), ("9000Q1", "has not begun")])
def test_a_quarter_that_is_none_or_has_not_begun_is_refused(loaded: Run, quarter: str, why: str) -> None:
    ended = loaded("report", "--quarter", quarter)
    assert (ended.status, why in ended.err, ended.out) == (1, True, "")


def test_a_log_that_was_touched_gives_a_report_that_says_so_and_1(asked: Run, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection, connection:
        connection.execute("UPDATE noisevault_budget SET spent_nano_epsilon = 0")
    ended = asked("report", "--quarter", NOW, "--format", "markdown")
    assert (ended.status, "did NOT verify" in ended.out, "## Keys" in ended.out) == (1, True, True)
    assert "0.75" not in ended.out
