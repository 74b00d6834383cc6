"""What the README shows is run as it stands there."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from shutil import copyfile
from zipfile import ZipFile

import pytest

from tests.vault.cli.conftest import Run

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    return str(found)


def test_the_program_of_the_readme_runs_as_it_stands(tmp_path: Path) -> None:
    pooled = "ignore:unclosed database:ResourceWarning"  # Python 3.13 says so of what the end of a program closes
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-W", pooled, "-c", block("python")],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stderr, ran.stdout) == ("", "52000.0\n")
    assert b"840" not in (tmp_path / "app.db").read_bytes()


def test_what_the_readme_installs_has_every_file_of_the_packages(tmp_path: Path) -> None:
    tracked = [path.relative_to(ROOT) for top in ("kms", "dp", "vault") for path in (ROOT / top).rglob("*")]
    wanted = {path for path in tracked if (ROOT / path).is_file() and path.suffix != ".pyc"}
    for path in (*wanted, Path("pyproject.toml"), Path("README.md"), Path("LICENSE")):
        (tmp_path / "clone" / path).parent.mkdir(parents=True, exist_ok=True)
        copyfile(ROOT / path, tmp_path / "clone" / path)
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", tmp_path, "."],
        cwd=tmp_path / "clone",
        capture_output=True,
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with ZipFile(wheel) as packed:
        assert {Path(name) for name in packed.namelist() if ".dist-info/" not in name} == wanted
        (entry_points,) = (name for name in packed.namelist() if name.endswith("entry_points.txt"))
        assert b"noisevault = vault.cli:main" in packed.read(entry_points)


def test_the_commands_of_the_readme_succeed_in_their_order(run: Run, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(block("csv"), encoding="utf-8")
    commands = [line.removeprefix("$ ") for line in block("console").splitlines()]
    assert len(commands) > 8
    for command in commands:
        name, *words = shlex.split(command)
        ended = run(*words)
        assert name == "noisevault"
        assert (ended.status, ended.err) == (0, ""), command


def test_the_policy_of_the_readme_is_the_example_that_init_writes() -> None:
    assert block("toml") == (ROOT / "vault/demonstration/example.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("document", ["README.md", *(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))])
def test_every_link_to_a_file_leads_somewhere(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert ((ROOT / document).parent / target).exists(), target


def test_every_module_that_the_flow_names_is_there() -> None:
    flow = (ROOT / "docs/flow.md").read_text(encoding="utf-8")
    for module in re.findall(r"`((?:kms|dp|vault)/[\w/]+(?:\.py|/))`", flow):
        assert (ROOT / module).exists(), module
