"""What the tables of failures promise, tests show: each test that a page names exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("keys-*.md"))
NAMED = re.compile(r"`(?:\w+::)?(test_\w+)`")
ROW = re.compile(r"^\|.*\|$", re.MULTILINE)
FAILURES = re.compile(r"^\| failure \| error \| what still works, how long \| test.*\|$")
TEST = re.compile(r"^def (test_\w+)", re.MULTILINE)
DEFINED = {name for path in (ROOT / "tests").rglob("test_*.py") for name in TEST.findall(path.read_text())}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_test_that_a_page_names_exists(page: Path) -> None:
    assert set(NAMED.findall(page.read_text())) <= DEFINED


@pytest.mark.parametrize("page", ["keys-vault.md", "keys-aws.md"])
def test_every_row_of_a_table_of_failures_has_a_test(page: str) -> None:
    is_of_failures, rows = False, 0
    for line in (ROOT / "docs" / page).read_text().splitlines():
        if not ROW.match(line):
            is_of_failures = False
        elif FAILURES.match(line):
            is_of_failures = True
        elif is_of_failures and not line.startswith("| ---"):
            assert NAMED.search(line.split("|")[4]), line
            rows += 1
    assert rows >= 10
