"""docs/fastapi.md is followed to the letter, with the files of the tutorial that it names."""

import re
from pathlib import Path

import pytest

from tests.flows.test_tutorial import BLOCKS as TUTORIAL
from tests.flows.test_tutorial import NUMBERS, ROOT, commands, follow
from tests.servers.not_run import need_module

PAGE = (ROOT / "docs" / "fastapi.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
NAMED = ("# noisevault.toml", "# migrations/env.py", "# models.py")
TWO_STARTS = """
from fastapi.testclient import TestClient
from app import app
for _ in range(2):
    with TestClient(app) as client:
        print(client.post("/find", json={"ssn": "840 11 2233"}).json())
"""
DRIFTED = """
from fastapi.testclient import TestClient
from vault.errors import DefinitionChangedError
from app import app
try:
    TestClient(app).__enter__()
except DefinitionChangedError:
    print("stopped")
"""


@pytest.fixture
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """With what the page takes from the tutorial: the last of each file that it names."""
    for module in ("fastapi", "httpx"):
        need_module(request.node, module)
    follow(tmp_path, "alembic init migrations")
    for _, block in TUTORIAL:
        name, _, text = block.partition("\n")
        if name in NAMED:
            (tmp_path / name.removeprefix("# ")).write_text(text, encoding="utf-8")
    return tmp_path


def test_an_application_of_fastapi_seals_and_finds(folder: Path) -> None:
    for language, block in BLOCKS:
        if language == "console":
            for command, shown in commands(block):
                assert follow(folder, command) == shown or not shown, command
        else:
            name, _, text = block.partition("\n")
            (folder / name.removeprefix("# ")).write_text(text, encoding="utf-8")
    stored = (folder / "clinic.db").read_bytes()
    assert not [number for number in NUMBERS if number in stored]
    assert b"Ann" in stored
    (folder / "twice.py").write_text(TWO_STARTS, encoding="utf-8")
    assert follow(folder, "python twice.py") == "{'found': 'Ann'}\n" * 2
    models = (folder / "models.py").read_text(encoding="utf-8")
    (folder / "models.py").write_text(models.replace("digits", "trimmed"), encoding="utf-8")
    (folder / "drifted.py").write_text(DRIFTED, encoding="utf-8")
    assert follow(folder, "python drifted.py") == "stopped\n"
