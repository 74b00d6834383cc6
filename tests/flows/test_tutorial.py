"""docs/tutorial.md is followed to the letter: its files are written, its commands run, in the page's order."""

import re
import subprocess
import sys
from pathlib import Path

from tests.warm_commands import warm_program

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
NUMBERS = (b"840-11-2233", b"840112233", b"840-11-2244", b"840-11-2255")


def follow(folder: Path, command: str) -> str:
    """What a command says on standard output, in the folder, by the programs of this environment."""
    bin_ = Path(sys.executable).parent
    environment = {"PATH": f"{warm_program().parent}:{bin_}:/usr/bin:/bin", "PYTHONPATH": f"{ROOT}", "COLUMNS": "200"}
    ran = subprocess.run(
        ["/bin/sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, f"{command}\n{ran.stdout}{ran.stderr}"
    return ran.stdout


def commands(block: str) -> list[tuple[str, str]]:
    """Each command of a console block with the lines that it is shown to say."""
    found: list[tuple[str, str]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        else:
            found[-1] = (found[-1][0], f"{found[-1][1]}{line}\n")
    return found


def test_a_newcomer_who_follows_the_tutorial_has_a_sealed_indexed_column(tmp_path: Path) -> None:
    revisions = 0
    for language, block in BLOCKS:
        if language == "console":
            for command, shown in commands(block):
                said = follow(tmp_path, command)
                assert said == shown or not shown, command
            continue
        name, _, text = block.partition("\n")
        if "*" in name:
            (written,) = tmp_path.glob(name.removeprefix("# "))
            upgrade = written.read_text().partition("def downgrade")[0]
            assert text in upgrade
            assert not re.search("vault|Sealed|Blind", upgrade.replace("create_blind_index", ""))
            revisions += 1
        else:
            (tmp_path / name.removeprefix("# ")).write_text(text, encoding="utf-8")
            assert language == ("toml" if name.endswith(".toml") else "python")
    assert revisions == 1
    stored = (tmp_path / "clinic.db").read_bytes() + (tmp_path / "clinic.keys.db").read_bytes()
    assert not [number for number in NUMBERS if number in stored]
    keys = [tmp_path / "clinic.kek", tmp_path / "clinic.keys.db"]
    for file in keys:
        file.rename(file.with_suffix(".away"))
    follow(tmp_path, "alembic downgrade -1 && alembic upgrade head")  # without a key
    assert not [file for file in keys if file.exists()]
