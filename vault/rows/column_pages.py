"""Column pages: what a statement reads, some rows at a time, each column a sequence; no object is made of a row.

SQLAlchemy makes one of each row, which costs as much as reading it; while they live Python's collector counts them, and
of enough of them it searches all that the process holds. So rows are taken as the driver gives them, few at a time, and
sent through their types' processors by the column.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from sqlalchemy import Boolean, Connection, Float, Integer, LargeBinary, Select, Uuid, event
from sqlalchemy.types import TypeEngine

__all__ = ["column_pages"]

# Ours: so few are gone before the collector takes them for what lives long.
ROWS_A_PAGE: Final = 1_000
# Of these PostgreSQL's binary answers are read as its text is, and sooner. A type that the driver does not know is
# bytes in the one and text in the other: where another type is declared, all is read as text.
ALIKE_IN_BINARY: Final = (Boolean, Float, Integer, LargeBinary, Uuid)
PSYCOPG_BINARY: Final = 1


def column_pages(connection: Connection, statement: Select[Any], most_rows: int) -> Iterator[list[Sequence[Any]]]:
    """The columns of the next rows, most_rows at most, in the order of the statement. Raises: DBAPIError."""
    types, rows = [column.type for column in statement.selected_columns], min(ROWS_A_PAGE, most_rows)
    if connection.dialect.driver == "psycopg" and all(isinstance(one, ALIKE_IN_BINARY) for one in types):
        event.listen(connection, "before_cursor_execute", _in_binary)
    result = connection.execution_options(stream_results=True, max_row_buffer=rows).execute(statement)
    told = result.cursor.description
    readers = [_reader(connection, one, column[1]) for one, column in zip(types, told, strict=True)]
    while page := result.cursor_strategy.fetchmany(result, result.cursor, rows):
        columns = zip(readers, zip(*page, strict=True), strict=True)
        yield [values if read is None else [*map(read, values)] for read, values in columns]


def _in_binary(_connection: Connection, cursor: Any, *_statement: Any) -> None:
    cursor.format = PSYCOPG_BINARY


def _reader(connection: Connection, declared: TypeEngine[Any], stored: object) -> Callable[[Any], Any] | None:
    """What SQLAlchemy would send a value through. stored: how the driver calls the column's type."""
    return declared.dialect_impl(connection.dialect).result_processor(connection.dialect, stored)
