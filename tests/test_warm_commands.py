"""A warm command is to whoever starts it what a cold one is: its words, what it says, and its exit status."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.sizes import sized
from tests.warm_commands import warm_program

PROGRAM = "import sys; from beside import NAME; print(NAME, sys.argv, __name__); print('e', file=sys.stderr); {}"
ENDS = ["pass", "sys.exit(3)", "sys.exit('why')", "sys.exit()", "1 / 0", "import warnings; warnings.warn('w')"]


def started(folder: Path, program: Path | str, *words: str) -> tuple[int, str, str]:
    done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr.splitlines()[-1]


@pytest.mark.skipif(sized(0, 1), reason="in scripts/soak pages are followed by the python of the environment")
@pytest.mark.parametrize("end", ENDS)
def test_a_warm_python_does_what_a_cold_one_does(tmp_path: Path, end: str) -> None:
    (tmp_path / "beside.py").write_text("NAME = 'one'")
    (tmp_path / "program.py").write_text(PROGRAM.format(end))
    warm = warm_program().with_name("python")
    for words in (["-c", PROGRAM.format(end), "a", "b"], ["-W", "error", "program.py", "a"], ["program.py"]):
        assert started(tmp_path, warm, *words) == started(tmp_path, sys.executable, *words)


def test_a_warm_command_has_the_environment_the_folder_and_the_status_of_whoever_starts_it(tmp_path: Path) -> None:
    assert subprocess.run([warm_program(), "--help"], cwd=tmp_path, capture_output=True, check=False).returncode == 0
    status, _, told = started(tmp_path, warm_program(), "check")
    assert status == 1
    assert "noisevault.toml" in told
    assert started(tmp_path, warm_program(), "no-such-command")[0] == 2
