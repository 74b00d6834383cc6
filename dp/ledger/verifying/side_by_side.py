"""Side by side: a stretch of the log and the rows that it records, read in one pass, both in the log's order."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from dp.ledger.store.driver_rows import driver_rows
from dp.ledger.store.schema import answer, charge, request
from dp.ledger.store.unreadable import unreadable
from dp.ledger.verifying.recorded_kinds import KINDS, MARKS, TABLES, Entry, Kind
from dp.ledger.verifying.spelled import answer_is_spelled, scopes_of_spelled

__all__ = ["SideBySide"]

# In a row of charges.
DATASET: Final = 2
COST: Final = slice(7, 11)


class _Rows:
    """Those of one table. taken: how many were."""

    __slots__ = ("_ahead", "_of_entry", "_of_row", "_rows", "taken")

    def __init__(self, kind: Kind, rows: Iterator[tuple[Any, ...]]) -> None:
        self._of_entry, self._of_row, self._rows = kind.of_entry, kind.of_row, rows
        self._ahead: tuple[Any, ...] | None = None
        self.taken = 0

    def next(self) -> tuple[Any, ...] | None:
        """The one that is taken next, or None after the last."""
        row = self._ahead
        if row is None:
            row = self._ahead = next(self._rows, None)
        return row

    def take(self) -> None:
        self._ahead = None
        self.taken += 1

    def take_of(self, entry: Entry) -> bool:
        row = self.next()
        self.take()
        return row is not None and self._of_row(row) == self._of_entry(entry)


class SideBySide:
    """Takes the entries of the stretch in turn, and says whether its rows are what they say, no more and no less.

    What is wrong, and what first, it does not say: it has passed by when that shows.
    """

    def __init__(
        self,
        connection: Connection,
        first: int,
        last: int,
        count: Callable[[str, Sequence[int], Sequence[Any]], object] = lambda *_: None,
    ) -> None:
        """first, last: numbers of entries. count: is given dataset, cost and scopes of each charge that is spelled."""
        self._tables = {
            kind.table.name: _Rows(kind, driver_rows(connection, kind.rows, first=first, last=last)) for kind in KINDS
        }
        self._by_kind = {kind: self._tables[name] for kind, name in TABLES.items() if name != MARKS}
        self._requests = self._tables[request.name]
        self._answers, self._charges = self._tables[answer.name], self._tables[charge.name]
        self._count = count
        self._is_same = True

    def take_spelled(self, text: object, number: object, key_id: object, previous: str) -> bool:
        """Take an entry that its row spells, and count it. False, and nothing is taken, where none does."""
        try:
            row = self._answers.next()
            if row is not None and row[0] == number:
                if not answer_is_spelled(text, key_id, previous, row):
                    return False
                self._answers.take()
                return True
            row = self._charges.next()
        except OperationalError as error:
            self._is_same = self._was_read(error)
            return False
        if row is None or row[0] != number or (scopes := scopes_of_spelled(text, key_id, previous, row)) is None:
            return False
        self._charges.take()
        self._count(row[DATASET], row[COST], scopes)
        return True

    def take(self, entry: Entry) -> None:
        rows = self._by_kind.get(entry["kind"])
        try:
            if rows is not None and not rows.take_of(entry):
                self._is_same = False
            if entry.get("request") is not None and not self._requests.take_of(entry):
                self._is_same = False
        except OperationalError as error:
            self._is_same = self._was_read(error)

    def counts(self) -> dict[str, int] | None:
        """When the last entry was taken: of the rows by table, or None where they are not the same."""
        try:
            if self._is_same and all(rows.next() is None for rows in self._tables.values()):
                return {name: rows.taken for name, rows in self._tables.items()}
        except OperationalError as error:
            self._is_same = self._was_read(error)
        return None

    def _was_read(self, error: OperationalError) -> bool:
        """No, where a row is none that was written here. Raises: the error, where it is of the database."""
        if unreadable(error) is None:
            raise error
        return False
