"""Copies of SQLite databases, put back under the commands of a project, and what restore-check says then."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.vault.cli.conftest import Ended, Run

MORE = "person,year,site,national_id,diagnosis,spending\n{0},1,1,44-{0},flu,5\n"


def copy_of(folder: Path, name: str, to: str) -> None:
    with closing(sqlite3.connect(folder / name)) as live, closing(sqlite3.connect(folder / to)) as copy:
        live.backup(copy)


def put_back(folder: Path, name: str, of: str) -> None:
    for leftover in folder.glob(f"{name}-*"):
        leftover.unlink()
    shutil.copy(folder / of, folder / name)


def looked(run: Run, *words: str, status: int = 3) -> Any:
    ended = run("restore-check", "--json", *words)
    assert ended.status == status, ended.out + ended.err
    return json.loads(ended.out)


def kinds(report: Any) -> set[str]:
    return {one["kind"] for one in report["findings"]}


def add(run: Run, folder: Path, person: int) -> Ended:
    (folder / "more.csv").write_text(MORE.format(person), encoding="utf-8")
    return run("import", "more.csv")


def keys_of(run: Run, purpose: str = "data") -> list[dict[str, Any]]:
    return [key for key in json.loads(run("keys", "list", "--json").out) if key["purpose"] == purpose]
