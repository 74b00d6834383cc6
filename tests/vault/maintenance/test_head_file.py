"""The head of the audit log in a file: read as it was written, anything else is told."""

from pathlib import Path

import pytest

from vault.maintenance.head_file import HeadFileError, KeptHead, read_head_file, write_head_file


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "head.json"
    assert read_head_file(path) is None
    write_head_file(path, KeptHead(12, "ab"))
    assert path.read_text() == '{"mac": "ab", "sequence": 12}\n'
    assert read_head_file(path) == KeptHead(12, "ab")


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"sequence": true, "mac": ""}', '{"sequence": 1, "mac": 2}', "\x00"])
def test_another_content_is_told_and_not_written_over(tmp_path: Path, text: str) -> None:
    path = tmp_path / "head.json"
    path.write_text(text)
    with pytest.raises(HeadFileError, match="noisevault check"):
        read_head_file(path)
