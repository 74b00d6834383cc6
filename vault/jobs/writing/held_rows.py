"""Held rows: a batch is written in three steps, the same for every database, within the caller's transaction.

Hold: the rows of the batch are locked, those that somebody else holds left out, and read once more. Compare: a row
that is not byte for byte as it was read is left out. Put: the others are set by one statement, by key alone, since
nobody can change them any more. Nobody is waited for while a row is held, so nobody waits in a circle with a service.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Final, Protocol

from sqlalchemy import Connection, Dialect, Table
from sqlalchemy.types import LargeBinary

from vault.jobs.change import Change
from vault.jobs.changes import Changes, Columns
from vault.jobs.writing.comparable import bind_to_stored
from vault.jobs.writing.sameness import same_row

__all__ = ["MOST_BYTES", "HoldsAndPuts", "Row", "WritesHeldRows"]

Row = Sequence[Any]
# Ours: no statement carries more than so many bytes of new values.
MOST_BYTES: Final = 16 * 2**20
BYTES: Final = frozenset({bytes, type(None)})


class HoldsAndPuts(Protocol):
    """The statements of one database, for one table.

    Keys and values, which are given by their columns, are as the driver takes and gives them.
    """

    @property
    def put_if(self) -> Callable[[Connection, Columns, Columns, Columns], int] | None:
        """Set the rows of these keys that hold these old bytes, compared in the database; how many there were.

        For keys without NULL and columns of bytes. None where there is no such statement, or the three steps are as
        quick.
        """
        ...

    def hold(self, connection: Connection, keys: Columns) -> Sequence[Row]:
        """Lock what there is of these rows and can be had at once: their keys and compared columns."""
        ...

    def put(self, connection: Connection, keys: Columns, new: Columns) -> int:
        """Set the rows, at least one; how many there were."""
        ...

    def look(self, connection: Connection, keys: Columns) -> Sequence[Row]:
        """The keys of these rows and the columns that put() sets."""
        ...


@dataclass(frozen=True, slots=True)
class _Binds:
    """What turns values of some columns into the driver's; whether they are bytes, which need no care."""

    processors: tuple[Callable[[Any], Any] | None, ...]
    only_bytes: bool

    @classmethod
    def of(cls, table: Table, names: Sequence[str], dialect: Dialect) -> "_Binds":
        kinds = [table.c[name].type for name in names]
        return cls(
            tuple(bind_to_stored(kind, dialect) for kind in kinds), all(isinstance(k, LargeBinary) for k in kinds)
        )

    def columns(self, columns: Columns) -> Columns:
        if not any(self.processors):
            return columns
        pairs = zip(self.processors, columns, strict=True)
        return [column if bind is None else [*map(bind, column)] for bind, column in pairs]


class WritesHeldRows:
    """Satisfies BatchWriter."""

    def __init__(
        self,
        statements: HoldsAndPuts,
        table: Table,
        compared: Table,
        compares: Sequence[str],
        sets: Sequence[str],
        dialect: Dialect,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """compared: the table with the types that it is compared by. most_bytes: of new values in one statement."""
        keys = [column.name for column in table.primary_key.columns]
        self._statements = statements
        self._most_bytes = most_bytes
        self._width = len(keys)
        self._keys = _Binds.of(table, keys, dialect)
        self._old = _Binds.of(compared, compares, dialect)
        self._new = _Binds.of(table, sets, dialect)

    def write(self, connection: Connection, changes: Sequence[Change]) -> list[bool]:
        """Within the caller's transaction: which changes were made, in order.

        Raises: DBAPIError; the caller rolls back.
        """
        if not changes:
            return []
        made = Changes.of(changes)
        keys = self._keys.columns([*zip(*made.keys, strict=True)])
        old, new = self._old.columns(made.old), self._new.columns(made.new)
        put_if = self._statements.put_if
        if put_if is not None and self._may_be_put_at_once(keys, old, new):
            put = put_if(connection, keys, old, new)
            return [True] * len(made) if put == len(made) else self._found(connection, keys, new, _names(keys))
        as_read = self._as_read(self._statements.hold(connection, keys), keys, old)
        to_put, values = keys, new
        if not all(as_read):
            to_put, values = ([[*compress(column, as_read)] for column in part] for part in (keys, new))
        put = sum([self._statements.put(connection, *piece) for piece in self._pieces(to_put, values)])
        if put == sum(as_read):
            return as_read
        return self._found(connection, to_put, values, _names(keys))

    def _as_read(self, held: Sequence[Row], keys: Columns, old: Columns) -> list[bool]:
        """Which rows are held and the same as they were read."""
        if self._old.only_bytes and len(held) == len(keys[0]):
            columns = [*zip(*held, strict=True)]
            if columns == [*map(tuple, keys), *map(tuple, old)]:  # all of them, and in order
                return [True] * len(held)
        by_key = self._by_key(held)
        rows = zip(map(by_key.get, _names(keys)), zip(*old, strict=True), strict=True)
        if self._old.only_bytes:
            return [now is not None and tuple(now) == was for now, was in rows]
        return [now is not None and same_row(now, was) for now, was in rows]

    def _may_be_put_at_once(self, keys: Columns, old: Columns, new: Columns) -> bool:
        """Whether all that is compared are bytes, as SQLite does not promise, and fits into one statement."""
        if not self._old.only_bytes or any(None in column for column in keys):
            return False
        size = 0
        for column in (*old, *new):
            kinds = set(map(type, column))
            if not kinds <= BYTES:
                return False
            size += sum(map(len, column if kinds == {bytes} else filter(None, column)))
        return size <= self._most_bytes

    def _found(self, connection: Connection, keys: Columns, new: Columns, named: Sequence[Any]) -> list[bool]:
        """Which rows have what was to be put, where a trigger of the table left some out."""
        now = self._by_key(self._statements.look(connection, keys))
        rows = zip(_names(keys), zip(*new, strict=True), strict=True)
        made = {name for name, row in rows if name in now and same_row(now[name], row)}
        return [name in made for name in named]

    def _by_key(self, rows: Sequence[Row]) -> dict[Any, Row]:
        """The rest of each row by its key, but of no key that two rows have (SQLite has keys that are NULL)."""
        width = self._width
        names = _names([*zip(*(row[:width] for row in rows), strict=True)])
        found = dict(zip(names, [row[width:] for row in rows], strict=True))
        if len(found) < len(rows):
            times = Counter(names)
            return {name: row for name, row in found.items() if times[name] == 1}
        return found

    def _pieces(self, keys: Columns, new: Columns) -> Iterator[tuple[Columns, Columns]]:
        """The rows, none of which is lost, in pieces that a statement can carry."""
        own = [[len(value) if isinstance(value, bytes | str) else 0 for value in column] for column in new]
        if sum(map(sum, own)) <= self._most_bytes:
            if keys[0]:
                yield keys, new
            return
        begin = size = 0
        sizes = [*map(sum, zip(*own, strict=True))]
        for at, own_size in enumerate([*sizes, self._most_bytes]):  # the last stands for the end
            if at > begin and (size + own_size > self._most_bytes or at == len(sizes)):
                piece = slice(begin, at)
                yield [column[piece] for column in keys], [column[piece] for column in new]
                begin, size = at, 0
            size += own_size


def _names(keys: Columns) -> Sequence[Any]:
    """What stands for each key in a dict: an array or a document is found by how it is written."""
    rows = [*zip(*keys, strict=True)]
    try:
        set(rows)
    except TypeError:
        return [*map(repr, rows)]
    return rows
