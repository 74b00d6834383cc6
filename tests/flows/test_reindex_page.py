"""docs/reindex.md is followed as it stands there, but for the lease, which is too long for a test."""

import re
import subprocess
from pathlib import Path

from kms.providers.local import create_key_file
from tests.warm_commands import warm_program

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reindex.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"(?:^`([\w.]+)`:\n\n)?^```(\w+)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def follow(folder: Path, command: str, status: int = 0) -> str:
    program, *words = command.split()
    assert program == "noisevault"
    if words[0] == "reindex" and not {"--wait", "--status", "--help"} & {*words}:
        status = 3  # it waits for a lease
    elif words[0] == "reindex":
        words += ["--lease", "0.3"]
    run = [str(warm_program()), *words]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    ran = subprocess.run(run, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == status, f"{command}\n{ran.stdout}{ran.stderr}"
    return ran.stdout + ran.stderr


def test_the_page_is_followed(tmp_path: Path) -> None:
    create_key_file(tmp_path / "clinic.kek")
    said: dict[str, str] = {}
    for name, language, text in BLOCKS:
        if language == "toml" or name:
            path = tmp_path / (name or text.partition("\n")[0].removeprefix("# "))
            if path.exists():
                path.write_text(text, encoding="utf-8")
                assert "noisevault reindex patient.name" in follow(tmp_path, "noisevault show patient", status=1)
            path.write_text(text, encoding="utf-8")
        elif language == "console":
            for line in text.splitlines():
                said[line] = follow(tmp_path, line.removeprefix("$ "))
    assert "patient.name index bidx: done" in said["$ noisevault reindex --all --wait"]
    assert "slot b key" in said["$ noisevault reindex --status"]
    assert "phase 4 -> -" in said["$ noisevault reindex --status"]
    assert "done" in said["$ noisevault reindex patient.name --index bidx --wait"]


def test_every_option_that_the_page_names_is_one(tmp_path: Path) -> None:
    told = follow(tmp_path, "noisevault reindex --help")
    for option in {*re.findall(r"`(--[a-z]+)`", PAGE), *re.findall(r"noisevault reindex .*?(--[a-z]+)", PAGE)}:
        assert option in told, option
