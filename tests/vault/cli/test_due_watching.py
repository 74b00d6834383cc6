"""Watching as maintenance does it: each thing is told once, without the text of a question."""

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dp.ledger.verifying.logged import Logged
from tests.vault.cli.conftest import Run
from tests.vault.cli.maintained import told
from vault.cli.due_watching import charged_since


def test_a_warning_is_told_once_and_again_when_there_is_more(loaded: Run) -> None:
    loaded("maintain")
    loaded("ask", "count(*)", "--epsilon", "0.1", "--who", "ann")
    assert told(loaded) == [("", "nothing")]
    loaded("ask", "count(*) where diagnosis = 'asthma'", "--epsilon", "0.1", "--who", "ann")
    assert told(loaded) == [("watch", "done")]
    assert told(loaded) == [("", "nothing")]
    loaded("ask", "count(*) where diagnosis = 'gout'", "--epsilon", "0.1", "--who", "ann")
    ended = loaded("maintain", "--json")
    (line, *_) = map(json.loads, ended.out.splitlines())
    assert line["told"].startswith("look at it by noisevault audit watch: ")
    assert "singled-out in dataset visits" in line["told"]
    assert "gout" not in ended.out + ended.err


def test_a_ledger_that_cannot_be_read_fails_the_steps_that_read_it_and_no_other(loaded: Run, tmp_path: Path) -> None:
    loaded("maintain")
    for file in tmp_path.glob("ledger.db*"):
        file.unlink()
    (tmp_path / "ledger.db").touch()
    assert told(loaded) == [("recover", "failed"), ("events", "failed"), ("watch", "failed")]


def test_where_nothing_was_asked_since_no_text_is_opened(
    loaded: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded("maintain")
    loaded("ask", "count(*)", "--epsilon", "0.1", "--who", "ann")
    assert told(loaded) == [("", "nothing")]
    monkeypatch.setattr("vault.cli.due_watching.CLOCKS", timedelta(0))
    monkeypatch.setattr("vault.watching.watch.watch", lambda *_, **__: pytest.fail("it looked at them"))
    time.sleep(1)
    loaded("maintain")
    assert told(loaded) == [("", "nothing")]


@pytest.mark.parametrize(("kind", "seconds", "new"), [("charge", 5, True), ("charge", 4, False), ("answer", 9, False)])
def test_what_was_charged_since_is_new(kind: str, seconds: int, new: bool) -> None:
    moment = datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC)
    assert charged_since([Logged(1, {"kind": kind, "at": seconds * 10**6})], moment) is new
