"""audit export: a file whole or not at all."""

import json
from pathlib import Path

from tests.vault.cli.conftest import Run
from tests.vault.cli.test_audit_verifying import changed


def test_each_entry_is_a_line_between_header_and_head(loaded: Run, tmp_path: Path) -> None:
    assert loaded("ask", "count()", "--epsilon", "0.1").status == 0
    ended = loaded("audit", "export", "log.jsonl")
    assert ended.status == 0, ended.err
    first, *entries, head = map(json.loads, (tmp_path / "log.jsonl").read_text(encoding="ascii").splitlines())
    assert first == {"format": "noisevault/1 audit export"}
    assert [one["entry"]["sequence"] for one in entries] == list(range(1, len(entries) + 1))
    assert (head["head"]["sequence"], head["head"]["mac"]) == (len(entries), entries[-1]["mac"])
    assert ended.out == f"log.jsonl: audit entries 1 to {len(entries)}\n"
    kinds = {one["entry"]["kind"] for one in entries}
    assert {"policy", "charge", "answer", "event"} <= kinds


def test_a_log_that_is_not_whole_leaves_the_file_that_is_there(loaded: Run, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text("before")
    changed(tmp_path, "UPDATE noisevault_audit SET mac = 'x' WHERE sequence = 1")
    ended = loaded("audit", "export", "log.jsonl")
    assert (ended.status, ended.out) == (1, "")
    assert "audit entry 1 was changed" in ended.err
    assert (tmp_path / "log.jsonl").read_text() == "before"
    assert not list(tmp_path.glob(".log.jsonl*"))
