"""The checkpoint of the audit head: written when it moved, never over one that the ledger does not go on from."""

import json
import shutil
from pathlib import Path

from tests.vault.cli.conftest import Run
from tests.vault.cli.maintained import declare, told


def test_the_head_is_written_when_the_log_has_grown(loaded: Run, tmp_path: Path) -> None:
    declare(tmp_path, 'audit_head = "head.json"')
    assert ("audit-head", "done") in told(loaded)
    first = json.loads((tmp_path / "head.json").read_text())
    assert told(loaded) == [("", "nothing")]
    loaded("ask", "count(*)", "--epsilon", "0.1")
    assert told(loaded) == [("audit-head", "done")]
    assert json.loads((tmp_path / "head.json").read_text())["sequence"] > first["sequence"]


def test_a_ledger_that_was_put_back_fails_each_time_and_the_file_stays(loaded: Run, tmp_path: Path) -> None:
    """Else the spent budget would be there again, and the only witness gone."""
    declare(tmp_path, 'audit_head = "head.json"')
    files = list(tmp_path.glob("ledger.db*"))
    for file in files:
        shutil.copy(file, tmp_path / f"old-{file.name}")
    loaded("ask", "count(*)", "--epsilon", "0.1")
    assert ("audit-head", "done") in told(loaded)
    kept = (tmp_path / "head.json").read_text()
    for file in tmp_path.glob("ledger.db*"):
        file.unlink()
    for file in files:
        shutil.copy(tmp_path / f"old-{file.name}", file)
    for _ in range(2):
        ended = loaded("maintain")
        assert (ended.status, "was put back" in ended.out) == (1, True)
        assert (tmp_path / "head.json").read_text() == kept
