"""What docs/keys.md says is held against the tests and the commands that it names."""

import ast
import re
import shlex
from functools import cache
from pathlib import Path

import pytest

import kms
from tests.vault.cli.conftest import Run

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "keys.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`([\w/]+\.py)::(test_\w+)`")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if NAMED.search(line)]
TABLE = [row for row in ROWS if len(row) == 5]
PROVIDERS = {"`hcvault:`", "`awskms:`", "`pkcs11:`", "`local:`", "key store"}


@cache
def functions(module: str) -> set[str]:
    parsed = ast.parse((ROOT / "tests" / "kms" / module).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(parsed) if isinstance(node, ast.FunctionDef)}


def test_every_test_that_the_page_names_is_there() -> None:
    named = NAMED.findall(PAGE)
    assert len(named) == PAGE.count("::test_") > 60
    missing = [f"{module}::{name}" for module, name in named if name not in functions(module)]
    assert not missing


def test_every_failure_has_an_error_of_ours_what_still_works_and_a_test_that_knows_the_error() -> None:
    assert {row[0] for row in TABLE if row[0]} == PROVIDERS
    for _, failure, seen, works, shown in TABLE:
        assert failure
        assert works
        (test,) = NAMED.findall(shown)
        errors = re.findall(r"`(\w+Error)`", seen)
        assert errors or seen.startswith("nothing"), failure
        for error in errors:
            assert error in kms.__all__, error
            text = (ROOT / "tests" / "kms" / test[0]).read_text(encoding="utf-8")
            # The published vectors name the error in their own file.
            assert error in text or test[1] == "test_the_published_vectors_hold", (error, test)


def test_every_error_that_a_caller_meets_is_in_the_table() -> None:
    seen = {error for row in TABLE for error in re.findall(r"`(\w+Error)`", row[2])}
    at_the_desk = {"KmsError", "MissingExtraError", "UnknownProviderError"}  # before anything runs
    assert {name for name in kms.__all__ if name.endswith("Error")} - at_the_desk <= seen


def commands(document: str) -> list[str]:
    text = (ROOT / "docs" / document).read_text(encoding="utf-8")
    blocks = re.findall(r"^ *```(\w*)\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)
    lines = [line.strip() for language, block in blocks if language in {"", "sh"} for line in block.splitlines()]
    return sorted({line for line in lines if re.match(r"noisevault \w", line)})


@pytest.mark.parametrize(
    "document",
    [
        *("keys.md", "keys-rewrap.md", "keys-vault.md", "keys-aws.md", "keys-local.md"),
        *("keys-move.md", "keys-shred.md", "keys-lifecycle.md"),
    ],
)
def test_every_command_of_the_pages_is_one(run: Run, document: str) -> None:
    found = commands(document)
    assert found
    for line in found:
        words = [word for word in shlex.split(line, comments=True)[1:] if re.fullmatch(r"[a-z][a-z-]*", word)]
        assert run(*words[: 2 if words[0] == "keys" else 1], "--help").status == 0, line
