"""Errors of files: the line, the column and the kind of what is wrong; never a word of the file itself."""

from vault.errors import ImportRefusedError


class FileError(ImportRefusedError):
    """A file that cannot be read as records. line: the physical line in the file, from 1; None: the whole file."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem, line)
        self.problem = problem
        self.line = line

    def __str__(self) -> str:
        return self.problem if self.line is None else f"line {self.line}: {self.problem}"


class HeaderError(FileError):
    """The header does not name the table's columns; nothing after it was read."""


class RaggedRowError(FileError):
    """A record has more or fewer cells than the header. found, expected: how many."""

    def __init__(self, line: int, found: int, expected: int) -> None:
        super().__init__(f"{found} cells, and the header has {expected}; quote cells that hold the delimiter", line)
        self.args = (line, found, expected)
        self.found = found
        self.expected = expected


class CellError(FileError):
    """A cell is not of its column's type. line: where its record starts; expected, found: in words, no cell text."""

    def __init__(self, line: int, column: str, expected: str, found: str) -> None:
        super().__init__(f"column {column}: expected {expected}, found {found}", line)
        self.args = (line, column, expected, found)
        self.column = column
        self.expected = expected
        self.found = found
