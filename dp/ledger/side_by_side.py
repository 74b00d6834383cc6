"""Side by side: a stretch of the log and the rows that it records, read in one pass, both in the log's order."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from dp.ledger.driver_rows import driver_rows
from dp.ledger.recorded_kinds import KINDS, MARKS, TABLES, Entry, Kind
from dp.ledger.schema import request
from dp.ledger.unreadable import unreadable

__all__ = ["SideBySide"]


class _Rows:
    """Those of one table. found: how many were taken."""

    __slots__ = ("_of_entry", "_of_row", "_rows", "found")

    def __init__(self, kind: Kind, rows: Iterator[tuple[Any, ...]]) -> None:
        self._of_entry, self._of_row, self._rows = kind.of_entry, kind.of_row, rows
        self.found = 0

    def next_is_of(self, entry: Entry) -> bool:
        self.found += 1
        row = next(self._rows, None)
        return row is not None and self._of_row(row) == self._of_entry(entry)

    def are_all(self) -> bool:
        return next(self._rows, None) is None


class SideBySide:
    """Takes the entries of the stretch in turn, and says whether its rows are what they say, no more and no less.

    What is wrong, and what first, it does not say: it has passed by when that shows.
    """

    def __init__(self, connection: Connection, first: int, last: int) -> None:
        """first, last: numbers of entries."""
        self._tables = {
            kind.table.name: _Rows(kind, driver_rows(connection, kind.rows, first=first, last=last)) for kind in KINDS
        }
        self._by_kind = {kind: self._tables[name] for kind, name in TABLES.items() if name != MARKS}
        self._requests = self._tables[request.name]
        self._is_same = True

    def take(self, entry: Entry) -> None:
        rows = self._by_kind.get(entry["kind"])
        try:
            if rows is not None and not rows.next_is_of(entry):
                self._is_same = False
            if entry.get("request") is not None and not self._requests.next_is_of(entry):
                self._is_same = False
        except OperationalError as error:
            self._is_same = self._was_read(error)

    def counts(self) -> dict[str, int] | None:
        """When the last entry was taken: of the rows by table, or None where they are not the same."""
        try:
            if self._is_same and all(rows.are_all() for rows in self._tables.values()):
                return {name: rows.found for name, rows in self._tables.items()}
        except OperationalError as error:
            self._is_same = self._was_read(error)
        return None

    def _was_read(self, error: OperationalError) -> bool:
        """No, where a row is none that was written here. Raises: the error, where it is of the database."""
        if unreadable(error) is None:
            raise error
        return False
