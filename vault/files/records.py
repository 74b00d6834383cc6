"""Records: the rows of a CSV file as text, as RFC 4180 has them, each with the line that it starts on.

A cell is unquoted, and then holds no quote, or it is quoted as a whole, and then holds anything, line ends too, with
a quote written twice. Anything between is refused instead of guessed at. Empty lines between records are skipped.
An unquoted empty cell is None, a quoted one is "". (The csv module before Python 3.13 does not tell them apart;
pyarrow does, but reads on to the end of the file after a quote that is not closed, and numbers no lines.)
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from vault.files.errors import FileError
from vault.files.lines import LONGEST_RECORD

DELIMITERS: Final = (",", ";", "\t", "|")


@dataclass(frozen=True, slots=True, repr=False)
class Record:
    """line: the physical line that it starts on, from 1. cells: as text; None for an unquoted empty one."""

    line: int
    cells: tuple[str | None, ...]


def records(numbered: Iterable[tuple[int, str]], delimiter: str = ",") -> Iterator[Record]:
    """The records of numbered lines.

    Raises: FileError naming the line of the record, and the cell by its place.
    """
    if delimiter not in DELIMITERS:
        raise FileError(f"the delimiter is one of {' '.join(map(repr, DELIMITERS))}")
    quoted_or_plain = re.compile(f'"([^"]*+(?:""[^"]*+)*+)"|([^"\r\n{re.escape(delimiter)}]*+)')
    source = iter(numbered)
    for line, text in source:
        if '"' in text:
            whole = _whole_record(line, text, source)
            yield Record(line, tuple(_cells(line, whole, delimiter, quoted_or_plain)))
        elif bare := _without_end(text):
            if "\r" in bare:
                raise FileError("a carriage return within a line; end lines with LF or CRLF, or quote the cell", line)
            yield Record(line, tuple(cell or None for cell in bare.split(delimiter)))


def _without_end(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r")


def _whole_record(line: int, text: str, following: Iterator[tuple[int, str]]) -> str:
    """The lines of one record: as many as it takes until each quote has its second."""
    parts, length, is_open = [text], len(text), text.count('"') % 2 == 1
    while is_open:
        _, more = next(following, (0, ""))
        if not more:
            break
        parts.append(more)
        length += len(more)
        if length > LONGEST_RECORD:
            raise FileError(f"a quote is not closed within {LONGEST_RECORD // 2**20} MiB", line)
        is_open ^= more.count('"') % 2 == 1
    return _without_end("".join(parts))


def _cells(line: int, text: str, delimiter: str, cell: re.Pattern[str]) -> Iterator[str | None]:
    start = number = 0
    while True:
        number += 1
        quoted, plain, end = _matched(cell, text, start)
        if end < len(text) and text[end] != delimiter:
            raise FileError(f"cell {number}: {_what_is_wrong(quoted, text[end], is_first=end == start)}", line)
        yield plain or None if quoted is None else quoted.replace('""', '"')
        if end == len(text):
            return
        start = end + 1


def _matched(cell: re.Pattern[str], text: str, start: int) -> tuple[str | None, str | None, int]:
    """The quoted or the plain content that begins at `start`, and where it ends. Plain content may be empty."""
    found = cell.match(text, start)
    return (found[1], found[2], found.end()) if found else (None, None, start)


def _what_is_wrong(quoted: str | None, character: str, *, is_first: bool) -> str:
    """What is said of a character that stands where a delimiter or the end of the record must."""
    if quoted is not None:
        return "something stands after its closing quote; quote the whole cell, and write quotes inside it twice"
    if character == '"' and is_first:
        return "its quote is not closed before the end of the file; close it"
    if character == '"':
        return "a quote stands inside an unquoted cell; quote the whole cell, and write quotes inside it twice"
    return "a carriage return stands inside an unquoted cell; quote the whole cell"
