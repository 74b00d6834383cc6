"""What the README shows is run as it stands there."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.vault.cli.conftest import Run

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
HEADER = "person,year,site,female,name,email,national_id,doctor_visits,medical_spending\n"


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


def test_the_commands_of_the_readme_succeed_in_their_order(run: Run, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(
        HEADER + "".join(f"{i},1,{1 + i % 6},0,Ada,ada@example.org,999-{i:07d},{i % 9},12.5\n" for i in range(1, 30))
    )
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
