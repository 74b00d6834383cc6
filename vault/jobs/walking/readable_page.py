"""Readable page: rows in key order, as a work takes them, and the keys of those that cannot be read as declared.

One such row would end the read of all: a date that is none, a label that the Enum does not have. It is looked for by
halves, and told without what was read, which the errors of drivers and types quote.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sqlalchemy import Connection, Engine, RowMapping, Select
from sqlalchemy.exc import DBAPIError, StatementError

from vault.jobs.change import Failed, Key
from vault.jobs.outage import is_outage
from vault.jobs.walking.key_range import KeyRange
from vault.jobs.walking.read_rows import ReadRows

__all__ = ["ReadablePage", "read_page"]

UNREADABLE: Final = "cannot be read as the type that the column is declared as: mend the value, or the declaration"
# What declared types raise in the hands of SQLAlchemy, and drivers of what they cannot convert.
NOT_READ: Final = (ValueError, TypeError, LookupError, ArithmeticError)

# Attributes that a driver's error has when the database itself raised it.
OF_THE_DATABASE: Final = ("sqlstate", "sqlite_errorname")


@dataclass(slots=True)
class ReadablePage:
    """last: the key of the last row, read or not; None of no rows."""

    rows: ReadRows = field(default_factory=ReadRows)
    failed: list[Failed] = field(default_factory=list)
    last: Key | None = None
    length: int = 0


def read_page(
    engine: Engine,
    keys_of: Callable[[Sequence[RowMapping]], list[Key]],
    statement: Callable[[KeyRange, int, Sequence[str]], Select[Any]],
    reads: Sequence[str],
    at: KeyRange,
    rows: int,
) -> ReadablePage:
    """The first rows of a range. statement: of a range, so many rows, and the columns that are read beside the key."""
    with engine.connect() as connection:
        found = _rows(connection, statement(at, rows, reads))
        if found is not None:
            keys = keys_of(found[-1:])
            return ReadablePage(found, [], keys[0] if keys else None, len(found))
        keys = keys_of(connection.execute(statement(at, rows, ())).mappings().all())
        page = ReadablePage(last=keys[-1] if keys else None, length=len(keys))
        todo = [keys]
        while todo:
            some = todo.pop()
            before = keys.index(some[0])
            part = replace(at, after=keys[before - 1] if before else at.after, up_to=some[-1])
            found = _rows(connection, statement(part, len(some), reads))
            if found is not None:
                page.rows += found
            elif len(some) == 1:
                alone = [(name, statement(part, 1, [name])) for name in reads]
                bad = [name for name, one in alone if _rows(connection, one) is None]
                page.failed += [Failed(some[0], name, UNREADABLE) for name in bad or reads]
            else:
                todo += [some[len(some) // 2 :], some[: len(some) // 2]]
    return page


def _rows(connection: Connection, statement: Select[Any]) -> ReadRows | None:
    """None where a row could not be read."""
    try:
        result = connection.execute(statement)
        return ReadRows(list(result.keys()), result.all())
    except DBAPIError as error:
        if is_outage(error) or any(getattr(error.orig, name, None) is not None for name in OF_THE_DATABASE):
            raise  # its own refusal, not what the driver made of an answer
        connection.rollback()
    except (StatementError, *NOT_READ):
        connection.rollback()
    return None
