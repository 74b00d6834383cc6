"""Held rows: a batch is written in three steps, the same for every database, within the caller's transaction.

Hold: the rows of the batch are locked, those that somebody else holds left out, and read once more. Compare: a row
that is not byte for byte as it was read is left out. Put: the others are set by one statement, by key alone, since
nobody can change them any more. Nobody is waited for while a row is held, so nobody waits in a circle with a service.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import add, eq
from typing import Any, Final, Protocol

from sqlalchemy import Connection, Dialect, Table
from sqlalchemy.types import LargeBinary

from vault.jobs.change import Change, Key
from vault.jobs.writing.comparable import bind_to_stored
from vault.jobs.writing.sameness import same_row

__all__ = ["MOST_BYTES", "HoldsAndPuts", "Row", "WritesHeldRows"]

Row = Sequence[Any]
# Ours: no statement carries more than so many bytes of new values.
MOST_BYTES: Final = 16 * 2**20
BYTES: Final = frozenset({bytes, type(None)})


class HoldsAndPuts(Protocol):
    """The statements of one database, for one table. Keys and values are as the driver takes and gives them."""

    def put_if(self, connection: Connection, keys: Sequence[Key], old: Sequence[Row], new: Sequence[Row]) -> int | None:
        """Set the rows that hold these bytes, compared in the database without reading them; how many there were.

        For keys without NULL and columns of bytes. None: nothing was done, since the three steps are as quick here.
        """
        ...

    def hold(self, connection: Connection, keys: Sequence[Key]) -> Sequence[Row]:
        """Lock what there is of these rows and can be had at once: their keys and compared columns."""
        ...

    def put(self, connection: Connection, keys: Sequence[Key], new: Sequence[Row]) -> int:
        """Set the rows; how many there were."""
        ...

    def look(self, connection: Connection, keys: Sequence[Key]) -> Sequence[Row]:
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

    def rows(self, rows: list[Key]) -> list[Key]:
        if not any(self.processors):
            return rows
        columns = zip(self.processors, zip(*rows, strict=True), strict=True)
        return [*zip(*(column if bind is None else map(bind, column) for bind, column in columns), strict=True)]


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
        keys = self._keys.rows([change.key for change in changes])
        old = self._old.rows([change.old for change in changes])
        new = self._new.rows([change.new for change in changes])
        if self._may_be_put_at_once(keys, old, new):
            put = self._statements.put_if(connection, keys, old, new)
            if put is not None:
                return [True] * len(keys) if put == len(keys) else self._found(connection, keys, new, _names(keys))
        held = self._by_key(self._statements.hold(connection, keys))
        named = _names(keys)
        if self._old.only_bytes:
            made = [*map(eq, map(held.get, named), old)]
        else:
            made = [now is not None and same_row(now, was) for now, was in zip(map(held.get, named), old, strict=True)]
        if not all(made):
            keys, new = [*compress(keys, made)], [*compress(new, made)]
        put = sum([self._statements.put(connection, keys[piece], new[piece]) for piece in self._pieces(new)])
        if put == len(keys):
            return made
        return self._found(connection, keys, new, named)

    def _may_be_put_at_once(self, keys: Sequence[Key], old: Sequence[Row], new: Sequence[Row]) -> bool:
        """Whether all that is compared are bytes, as SQLite does not promise, and fits into one statement."""
        if not self._old.only_bytes or any(None in column for column in zip(*keys, strict=True)):
            return False
        given = [*zip(*old, strict=True), *zip(*new, strict=True)]
        if not all(set(map(type, column)) <= BYTES for column in given):
            return False
        return sum(len(value) for column in given for value in column if value is not None) <= self._most_bytes

    def _found(self, connection: Connection, keys: list[Key], new: list[Key], named: Sequence[Any]) -> list[bool]:
        """Which rows have what was to be put, where a trigger of the table left some out."""
        now = self._by_key(self._statements.look(connection, keys))
        made = {name for name, row in zip(_names(keys), new, strict=True) if name in now and same_row(now[name], row)}
        return [name in made for name in named]

    def _by_key(self, rows: Sequence[Row]) -> dict[Any, Row]:
        """The rest of each row by its key, but of no key that two rows have (SQLite has keys that are NULL)."""
        width = self._width
        names = _names([row[:width] for row in rows])
        found = dict(zip(names, [row[width:] for row in rows], strict=True))
        if len(found) < len(rows):
            times = Counter(names)
            return {name: row for name, row in found.items() if times[name] == 1}
        return found

    def _pieces(self, rows: Sequence[Row]) -> Iterator[slice]:
        """The rows, none of which is lost, in pieces that a statement can carry."""
        sizes = [0] * len(rows)
        for column in zip(*rows, strict=True):
            own = [len(value) if isinstance(value, bytes | str) else 0 for value in column]
            sizes = [*map(add, sizes, own)]
        begin = size = 0
        for at, own_size in enumerate(sizes) if sum(sizes) > self._most_bytes else ():
            if size and size + own_size > self._most_bytes:
                yield slice(begin, at)
                begin, size = at, 0
            size += own_size
        if begin < len(rows):
            yield slice(begin, len(rows))


def _names(keys: Sequence[Row]) -> Sequence[Any]:
    """What stands for each key in a dict: an array or a document is found by how it is written."""
    try:
        set(keys)
    except TypeError:
        return [*map(repr, keys)]
    return keys
