"""The command line as a user has it: in a folder with a policy, by words, with an exit status."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.open_files import open_files
from tests.vault.projects import write_policy
from vault.cli import main

CSV = """person,year,site,national_id,diagnosis,spending
1,1,1,11-1,asthma,10.5
1,2,1,11-1,gout,20
2,1,2,22-2,"",30
3,1,3,33-3,,40
"""


@dataclass(frozen=True)
class Ended:
    status: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`noisevault WORDS` in an empty folder, wide enough that no line is folded. It closes what it opens."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*words: str) -> Ended:
        capsys.readouterr()
        before = open_files(tmp_path)
        with pytest.raises(SystemExit) as stopped:
            main(list(words))
        end = time.monotonic() + 10  # a keyring's thread that is reading when it is closed ends when it has read
        while left := open_files(tmp_path) - before:
            assert time.monotonic() < end, f"the command left open: {left}"
            time.sleep(0.02)
        said = capsys.readouterr()
        return Ended(int(stopped.value.code or 0), said.out, said.err)

    return run


@pytest.fixture
def loaded(run: Run, tmp_path: Path) -> Run:
    """The same, in a folder where the policy was made and four visits imported."""
    write_policy(tmp_path)
    (tmp_path / "visits.csv").write_text(CSV, encoding="utf-8")
    assert run("init").status == 0
    imported = run("import", "visits.csv")
    assert imported.status == 0, imported.err
    return run
