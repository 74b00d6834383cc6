"""Header: the first record of a CSV file, which names the table's columns in the file's order.

Blanks around a name are dropped; upper and lower case count. Errors name places and declared columns only: in a file
without a header the first line is data.
"""

from vault.files.errors import HeaderError
from vault.files.records import DELIMITERS, Record
from vault.policy import TablePolicy


def columns_in_order(header: Record, table: TablePolicy, delimiter: str) -> tuple[str, ...]:
    """The names of the file's columns. Columns that may be NULL, or whose values are made, can be
    left out of a file, no others.

    Raises: HeaderError for a name that is empty, twice or not in the table, a missing one, and another delimiter.
    """
    _check_delimiter(header, delimiter)
    names: list[str] = []
    for place, cell in enumerate(header.cells, 1):
        name = (cell or "").strip(" \t")
        if not name:
            raise HeaderError(f"column {place} of the header has no name; name it or remove it", header.line)
        if name not in table.column:
            raise HeaderError(
                f"column {place} of the header is not in the table, which has: {', '.join(table.column)}"
                " (upper and lower case count)",
                header.line,
            )
        if name in names:
            raise HeaderError(f"column {name} stands twice in the header; remove one", header.line)
        names.append(name)
    needed = (name for name in table.column if not table.nullable(name) and not table.is_made(name))
    missing = [name for name in needed if name not in names]
    if missing:
        raise HeaderError(f"the header lacks {', '.join(missing)}, which cannot be NULL", header.line)
    return tuple(names)


def _check_delimiter(header: Record, delimiter: str) -> None:
    if len(header.cells) == 1:
        for other in DELIMITERS:
            if other != delimiter and other in (header.cells[0] or ""):
                raise HeaderError(
                    f"the header is one cell when cut at {delimiter!r}, and holds {other!r};"
                    f" if that is the delimiter, say so: --delimiter {_typed(other)}",
                    header.line,
                )


def _typed(delimiter: str) -> str:
    """The delimiter as one types it in a shell."""
    return "$'\\t'" if delimiter == "\t" else f"'{delimiter}'"
