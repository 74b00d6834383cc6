"""restore-check, as an operator types it after a database was put back."""

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


def test_a_whole_project_is_well_and_is_left_as_it_is(loaded: Run, tmp_path: Path) -> None:
    report = looked(loaded, status=0)
    assert (report["well"], report["findings"], report["steps"]) == (True, [], [])
    assert {key["state"] for key in report["keys"]} == {"active"}
    before = {name: [*_dump(tmp_path / name)] for name in ("application.db", "keys.db", "ledger.db")}
    told = loaded("restore-check")
    assert told.status == 0
    assert "all is well: 3 keys that 4 rows and the ledger need live" in told.out
    assert before == {name: [*_dump(tmp_path / name)] for name in before}


def _dump(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as database:
        return list(database.iterdump())
