"""A test whose program is missing is never passed over in silence: it is named, with the command to type."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEST = "tests/kms/providers/test_pkcs11.py::test_two_wraps_of_one_key_differ"


def run(tmp_path: Path, ci: str, *options: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", TEST, *options]
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment | {"PATH": str(tmp_path), "CI": ci},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize(("workers", "ci", "status"), [("0", "", 0), ("2", "true", 1)])
def test_a_missing_program_is_told_at_the_end_and_fails_only_where_everything_has_to_run(
    tmp_path: Path, workers: str, ci: str, status: int
) -> None:
    ended = run(tmp_path, ci, "-n", workers)
    assert ended.returncode == status, ended.stdout
    assert "tests NOT RUN: 1; softhsm2-util is not on this machine; type: apt-get install softhsm2" in ended.stdout
    assert f"\n{TEST}\n" in ended.stdout
    assert ("CI=true, where everything has to run: this is a failure" in ended.stdout) == bool(status)


def test_a_missing_mariadb_is_told_as_well(tmp_path: Path) -> None:
    test = "tests/kms/test_exact_text.py::test_two_texts_are_equal_only_if_they_are_the_same[mariadb]"
    hide = "import sys, pytest, tests.servers.not_run as n; n.SERVERS = ''; sys.exit(pytest.main(sys.argv[1:]))"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    ended = subprocess.run(
        [sys.executable, "-c", hide, "-q", "-n", "0", "-p", "no:cacheprovider", test],
        cwd=ROOT,
        env=environment | {"PATH": str(tmp_path), "CI": "true"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ended.returncode == 1, ended.stdout
    assert "tests NOT RUN: 1; mariadbd is not on this machine; type: apt-get install mariadb-server" in ended.stdout
