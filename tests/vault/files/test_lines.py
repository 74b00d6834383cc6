import gzip
from pathlib import Path

import pytest

from tests.vault.files.written import given_away, written
from vault.files.errors import FileError
from vault.files.lines import LONGEST_RECORD, lines


def test_lines_keep_their_ends_and_are_numbered_from_one(tmp_path: Path) -> None:
    path = written(tmp_path, b"a\r\nb\n\nc\rd")
    assert list(lines(path)) == [(1, "a\r\n"), (2, "b\n"), (3, "\n"), (4, "c\rd")]


def test_only_line_feeds_end_lines(tmp_path: Path) -> None:
    text = "a\u2028b\x85c\x0bd\x1ce\x0cf\n"
    assert list(lines(written(tmp_path, text))) == [(1, text)]


def test_a_byte_order_mark_is_dropped_at_the_start_only(tmp_path: Path) -> None:
    assert list(lines(written(tmp_path, "\ufeffa\n\ufeffb\n"))) == [(1, "a\n"), (2, "\ufeffb\n")]
    assert list(lines(written(tmp_path, ""))) == []


def test_a_gzip_file_is_unpacked_whatever_its_name(tmp_path: Path) -> None:
    packed = gzip.compress("\ufeffé\n".encode())
    assert list(lines(written(tmp_path, packed, "file.csv.gz"))) == [(1, "é\n")]
    assert list(lines(written(tmp_path, packed, "file.csv"))) == [(1, "é\n")]


@pytest.mark.parametrize("cut", [3, 12, -9, -1])
def test_a_gzip_file_cut_short_is_refused(tmp_path: Path, cut: int) -> None:
    path = written(tmp_path, gzip.compress(b"a,b\n" * 50)[:cut])
    with pytest.raises(FileError, match="gzip file is damaged"):
        list(lines(path))


def test_a_damaged_gzip_file_is_refused(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(bytes(range(1, 10)) * 100))
    packed[-6] ^= 1  # the checksum
    with pytest.raises(FileError, match="gzip file is damaged"):
        list(lines(written(tmp_path, bytes(packed))))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_another_unicode_encoding_is_refused_with_advice(tmp_path: Path, encoding: str) -> None:
    with pytest.raises(FileError, match="save it as"):
        list(lines(written(tmp_path, "id,name\n1,sesame-31\n".encode(encoding))))


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_an_eight_bit_encoding_is_refused_at_its_line(tmp_path: Path, encoding: str) -> None:
    path = written(tmp_path, "id,name\n1,Ana\n2,sesame-31 Jos\xe9\n".encode(encoding))
    with pytest.raises(FileError, match="line 3: not UTF-8") as caught:
        list(lines(path))
    assert caught.value.line == 3
    assert "sesame" not in given_away(caught.value)


def test_a_nul_byte_is_refused_at_its_line(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="line 2: a NUL byte"):
        list(lines(written(tmp_path, b"a\nb\0\n")))


def test_a_line_without_end_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    path = written(tmp_path, b"a\n" + b"x" * (LONGEST_RECORD + 1))
    with pytest.raises(FileError, match="line 2: the line is longer than 16 MiB"):
        list(lines(path))


def test_a_file_that_cannot_be_opened_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"none\.csv cannot be read: No such file"):
        list(lines(tmp_path / "none.csv"))
    with pytest.raises(FileError, match="cannot be read: Is a directory"):
        list(lines(tmp_path))


def test_lines_are_read_one_at_a_time(tmp_path: Path) -> None:
    path = written(tmp_path, b"a\n" * 10 + b"\xff\n" + b"b\n" * 10)
    source = lines(path)
    assert [next(source) for _ in range(10)][-1] == (10, "a\n")
    source.close()  # type: ignore[attr-defined]
