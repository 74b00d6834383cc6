"""audit verify, of the ledger and of an export far from it."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.vault.cli.conftest import Run
from tests.vault.restoration.copies import copy_of, put_back


def changed(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "ledger.db")) as connection, connection:
        assert connection.execute(statement).rowcount == 1


def test_a_whole_ledger_is_counted(loaded: Run) -> None:
    assert loaded("ask", "count()", "--epsilon", "0.1").status == 0
    ended = loaded("audit", "verify")
    assert ended.status == 0
    assert "entries are whole; 1 charges, 1 answers, 1 datasets" in ended.out
    found = json.loads(loaded("audit", "verify", "--json").out)
    assert (found["charges"], found["answers"], len(found["mac"])) == (1, 1, 64)


def test_what_was_changed_is_named(loaded: Run, tmp_path: Path) -> None:
    assert loaded("ask", "count()", "--epsilon", "0.1").status == 0
    changed(tmp_path, "UPDATE noisevault_budget SET spent_nano_epsilon = 0")
    ended = loaded("audit", "verify")
    assert (ended.status, ended.out) == (1, "")
    assert "'visits' has spent_nano_epsilon 0, the log gives 100000000" in ended.err


def test_an_export_is_verified_where_there_is_no_ledger(loaded: Run, tmp_path: Path) -> None:
    assert loaded("ask", "count()", "--epsilon", "0.1").status == 0
    assert loaded("audit", "export", "log.jsonl").status == 0
    assert loaded("audit", "head", "head.json").status == 0
    for file in tmp_path.glob("ledger.db*"):
        file.unlink()
    ended = loaded("audit", "verify", "log.jsonl", "--checkpoint", "head.json")
    assert ended.status == 0, ended.err
    assert "log.jsonl: " in ended.out
    assert "it goes on from entry" in ended.out
    assert not list(tmp_path.glob("ledger.db*"))
    lines = (tmp_path / "log.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "log.jsonl").write_bytes(b"".join(lines[:2] + lines[3:]))
    ended = loaded("audit", "verify", "log.jsonl")
    assert (ended.status, ended.out) == (1, "")
    assert "audit entry 2 is missing" in ended.err


def test_a_ledger_of_yesterday_is_seen_by_the_checkpoint_of_today(loaded: Run, tmp_path: Path) -> None:
    copy_of(tmp_path, "ledger.db", "ledger.copy")
    assert loaded("ask", "count()", "--epsilon", "0.1").status == 0
    assert loaded("audit", "head", "head.json").status == 0
    assert loaded("audit", "verify", "--checkpoint", "head.json").status == 0
    put_back(tmp_path, "ledger.db", "ledger.copy")
    assert loaded("audit", "verify").status == 0
    ended = loaded("audit", "verify", "--checkpoint", "head.json")
    assert ended.status == 1
    assert "is missing: the checkpoint is entry" in ended.err


def test_what_maintain_keeps_is_a_checkpoint_too(loaded: Run, tmp_path: Path) -> None:
    found = json.loads(loaded("audit", "verify", "--json").out)
    kept = {"mac": found["mac"], "sequence": found["sequence"]}
    (tmp_path / "head.json").write_text(json.dumps(kept), encoding="ascii")
    assert loaded("audit", "verify", "--checkpoint", "head.json").status == 0
    (tmp_path / "head.json").write_text(json.dumps(kept | {"mac": "0" * 64}), encoding="ascii")
    assert "is not the one of the checkpoint" in loaded("audit", "verify", "--checkpoint", "head.json").err
