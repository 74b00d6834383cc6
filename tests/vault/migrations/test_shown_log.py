"""A warning of a migration is seen once, with alembic.ini's logging and without any."""

import subprocess
import sys
from pathlib import Path

import pytest

SET_UP = "import logging; logging.basicConfig(format='%(message)s')"


@pytest.mark.parametrize("before", ["", SET_UP])
def test_a_warning_is_shown_once_whether_or_not_logging_is_set_up(before: str) -> None:
    script = (
        f"import alembic.command; {before}\nfrom vault.migrations.shown_log import warn; warn('%s has values', 'x.y')"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3]
    )
    assert ended.stderr == "x.y has values\n"
