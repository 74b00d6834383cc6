"""Lines: the physical lines of a UTF-8 text file, plain or gzip, one at a time, numbered from 1.

A byte-order mark of UTF-8 is dropped; any other encoding is refused. A line ends with LF or CRLF and keeps its end.
"""

import gzip
import zlib
from collections.abc import Generator
from pathlib import Path
from typing import IO, Final

from vault.files.errors import FileError

# Ours: a line or a record is held in memory whole; longer ones are taken for a quote that was never closed.
LONGEST_RECORD: Final = 16 * 2**20
_GZIP: Final = b"\x1f\x8b"
_UTF_8_MARK: Final = b"\xef\xbb\xbf"
_UTF_16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")


def lines(path: Path) -> Generator[tuple[int, str], None, None]:
    """(number, text with its line end) of every line. Who does not read to the end closes it, and with it the file.

    Raises: FileError when the file cannot be read, is not UTF-8, or has a line of more than 16 MiB.
    """
    with _opened(path) as source, _unpacked(source) as content:
        number = 0
        while line := _next_line(content, number + 1):
            number += 1
            if number == 1:
                line = line.removeprefix(_UTF_8_MARK)
            yield number, _decoded(line, number)


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        reason = error.strerror
    raise FileError(f"{path} cannot be read: {reason}")


def _unpacked(source: IO[bytes]) -> IO[bytes]:
    packed = source.peek(2)[:2] == _GZIP  # type: ignore[attr-defined]
    return gzip.GzipFile(fileobj=source) if packed else source  # type: ignore[return-value]


def _next_line(content: IO[bytes], number: int) -> bytes:
    """The next line, empty at the end."""
    try:
        line = content.readline(LONGEST_RECORD + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        problem = "the gzip file is damaged or cut short; make it anew"
    except OSError as error:
        problem = f"the file cannot be read: {error.strerror}"
    else:
        if len(line) <= LONGEST_RECORD:
            return line
        problem = f"the line is longer than {LONGEST_RECORD // 2**20} MiB; is this a CSV file?"
    raise FileError(problem, number)


def _decoded(line: bytes, number: int) -> str:
    if number == 1 and line.startswith(_UTF_16_MARKS):
        raise FileError("the file is UTF-16; save it as UTF-8")
    if b"\0" in line:
        raise FileError("a NUL byte: the file is UTF-16, or no text; save it as CSV in UTF-8", number)
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:  # it carries the line, so that it must not become the context of ours
        pass
    raise FileError("not UTF-8 (perhaps Latin-1 or Windows-1252); save the file as UTF-8", number)
