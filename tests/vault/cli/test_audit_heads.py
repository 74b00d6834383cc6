"""audit head, as cron runs it."""

import json
from pathlib import Path

from tests.vault.cli.conftest import Run
from tests.vault.restoration.copies import copy_of, put_back


def test_the_head_follows_the_log(loaded: Run, tmp_path: Path) -> None:
    assert loaded("audit", "head", "head.json").status == 0
    before = json.loads((tmp_path / "head.json").read_text(encoding="ascii"))
    assert loaded("ask", "count()", "--epsilon", "0.1").status == 0
    assert loaded("audit", "head", "head.json").out == f"head.json: audit entry {before['sequence'] + 2}\n"
    assert sorted(file.name for file in tmp_path.glob("*head*")) == ["head.json"]


def test_a_log_that_went_back_leaves_the_head_that_shows_it(loaded: Run, tmp_path: Path) -> None:
    copy_of(tmp_path, "ledger.db", "ledger.copy")
    assert loaded("ask", "count()", "--epsilon", "0.1").status == 0
    assert loaded("audit", "head", "head.json").status == 0
    kept = (tmp_path / "head.json").read_bytes()
    put_back(tmp_path, "ledger.db", "ledger.copy")
    refused = loaded("audit", "head", "head.json")
    assert (refused.status, refused.out) == (1, "")
    assert "the checkpoint is entry" in refused.err
    assert (tmp_path / "head.json").read_bytes() == kept
