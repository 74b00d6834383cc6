import stat
from pathlib import Path

from tests.vault.cli.conftest import Run


def test_a_new_key_file_is_private_and_never_written_over(run: Run, tmp_path: Path) -> None:
    made = run("keys", "new-file", "new")
    assert made.status == 0
    assert made.out.startswith("local:")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600
    before = (tmp_path / "new").read_bytes()
    assert before.decode().strip() not in made.out
    again = run("keys", "new-file", "new")
    assert (again.status, again.out) == (1, "")
    assert (tmp_path / "new").read_bytes() == before
