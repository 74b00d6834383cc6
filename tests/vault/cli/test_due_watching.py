"""Watching as maintenance does it: each thing is told once, without the text of a question."""

import json
from pathlib import Path

from tests.vault.cli.conftest import Run
from tests.vault.cli.maintained import told


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


def test_a_ledger_that_cannot_be_read_fails_the_step_and_no_other(loaded: Run, tmp_path: Path) -> None:
    loaded("maintain")
    for file in tmp_path.glob("ledger.db*"):
        file.unlink()
    (tmp_path / "ledger.db").touch()
    assert told(loaded) == [("watch", "failed")]
