"""A text file is there whole, or as it was before."""

import os
from pathlib import Path

import pytest

from vault.maintenance.text_file import write_text_file


def test_it_takes_the_place_of_the_one_before_and_others_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "a.prom"
    path.write_text("old")
    before = path.stat().st_ino
    write_text_file(path, "new\n")
    assert path.read_text() == "new\n"
    assert path.stat().st_ino != before, "whoever has the old one open reads the old one to its end"
    assert path.stat().st_mode & 0o777 == 0o644 & ~_umask()
    assert [one.name for one in tmp_path.iterdir()] == ["a.prom"]


def test_where_it_cannot_be_written_the_old_one_stays_and_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "a.prom"
    path.mkdir()
    (path / "inside").touch()
    with pytest.raises(OSError, match="directory"):
        write_text_file(path, "new")
    assert [one.name for one in tmp_path.iterdir()] == ["a.prom"]


def _umask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now
