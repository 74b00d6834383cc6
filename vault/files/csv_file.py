"""CSV file: rows for one table, each cell a value of its column's declared type, read as a stream.

Types come from the policy and are never guessed; a file holds every row or is refused at its first fault. The caller
stores rows in one transaction, so that a refusal half-way leaves nothing behind.
"""

from collections.abc import Generator
from contextlib import closing
from pathlib import Path

from vault.files.cell import EXPECTED, Value, converter, found
from vault.files.errors import CellError, HeaderError, RaggedRowError
from vault.files.header import columns_in_order
from vault.files.lines import lines
from vault.files.records import records
from vault.policy import TablePolicy

Row = dict[str, Value | None]


def numbered_rows(path: Path, table: TablePolicy, *, delimiter: str = ",") -> Generator[tuple[int, Row], None, None]:
    """The rows of a .csv or .csv.gz file in UTF-8, each with the physical line on which its record starts, from 1.

    A row has every column of the table; those not in the file are None, unless their values are made.
    delimiter: one of , ; tab |. Memory is bounded by the longest record, at most 16 MiB.
    Who does not read to the end closes it, and with it the file.

    Raises: FileError (an ImportRefusedError) and its kinds HeaderError, RaggedRowError and CellError, while rows are
    taken. They name the line and the column, and hold nothing of the file.
    """
    with closing(lines(path)) as numbered:
        source = records(numbered, delimiter)
        header = next(source, None)
        if header is None:
            raise HeaderError("the file is empty; its first line names the columns")
        names = columns_in_order(header, table, delimiter)
        absent: Row = dict.fromkeys(name for name in table.column if name not in names and not table.is_made(name))
        columns = [(name, converter(table.column[name].type), table.nullable(name)) for name in names]
        for record in source:
            if len(record.cells) != len(columns):
                raise RaggedRowError(record.line, len(record.cells), len(columns))
            row = dict(absent)
            for text, (name, convert, nullable) in zip(record.cells, columns, strict=True):
                value = None if text is None else convert(text)
                if value is None and not (text is None and nullable):
                    raise _misfit(record.line, name, text, table)
                row[name] = value
            yield record.line, row


def _misfit(line: int, name: str, text: str | None, table: TablePolicy) -> CellError:
    kind = table.column[name].type
    what = "an empty cell, and the column cannot be NULL" if text is None else found(text, kind)
    return CellError(line, name, EXPECTED[kind], what)
