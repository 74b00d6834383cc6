"""Scan: the rows of a table in batches, with the columns a question needs, opened in memory.

A row of which a needed value does not open is left out: it names another key than those that were opened beforehand,
or it does not authenticate. How many there were is for operators (`noisevault check`), never for an answer. Where rows
name their tenants, those of the fields' keyring are read and no others.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import compress
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Engine, Select, Table, select
from sqlalchemy.exc import DBAPIError

from vault.errors import FieldError, PolicyError
from vault.field import Field
from vault.rows.column_pages import column_pages
from vault.rows.raw_table import raw_table
from vault.rows.shared_snapshot import NO_SNAPSHOT, reading_snapshot
from vault.rows.tenant_rows import rows_of
from vault.sealed.envelope import FORMAT, HEADER_BYTES, SealedValue

ROWS_A_BATCH: Final = 10_000
FORMAT_BYTE: Final = bytes([FORMAT])
KEY_ID: Final = slice(2, HEADER_BYTES)
HEAD: Final = itemgetter(slice(0, HEADER_BYTES))


@dataclass(frozen=True, slots=True, repr=False)
class Batch:
    """Some rows in columns: opened values by column name, and the parts of the primary key in order.

    unreadable: rows left out.
    """

    columns: Mapping[str, Sequence[Any]]
    keys: Sequence[Sequence[Any]]
    unreadable: int

    def __len__(self) -> int:
        return len(self.keys[0])


@dataclass(frozen=True, slots=True)
class Scan:
    """What to read: `columns` of `table`; `fields` opens those that are sealed; `live` are the keys that open.

    conditions: of the raw table's rows, which are read; all by default. snapshot: as reading_snapshot().
    """

    engine: Engine
    table: Table
    fields: Mapping[str, Field]
    columns: tuple[str, ...]
    live: frozenset[bytes]
    rows_a_batch: int = ROWS_A_BATCH
    conditions: Callable[[Table], Sequence[ColumnElement[bool]]] = lambda _raw: ()
    snapshot: str = NO_SNAPSHOT

    def require_columns(self) -> None:
        """That the database has what is to be read, found out without reading a row.

        Raises: PolicyError.
        """
        _, names, statement = self._statement()
        try:
            with self.engine.connect() as connection:
                connection.execute(statement.limit(0))
        except DBAPIError:
            pass
        else:
            return
        raise PolicyError(
            f"the database cannot give the columns {', '.join(names)} of table {self.table.name}: bring table and"
            " policy together"
        )

    def _statement(self) -> tuple[list[str], list[str], Select[Any]]:
        """The primary key's names, the names of all that is read, and the statement that reads it."""
        raw = raw_table(self.table)
        keys = [column.name for column in raw.primary_key.columns]
        fields = [self.fields[name] for name in self.columns if name in self.fields]
        bound = {name for field in fields for name in field.bound_names if name in raw.c}
        names = list(dict.fromkeys([*keys, *self.columns, *sorted(bound)]))
        statement = select(*(raw.c[name] for name in names)).where(*self.conditions(raw))
        keyring = next((field.keyring.name for field in self.fields.values()), "")
        mine = rows_of(self.table, raw, keyring)
        return keys, names, statement if mine is None else statement.where(mine)

    def batches(self) -> Iterator[Batch]:
        """Every row, in one statement's snapshot; nothing is kept between batches."""
        keys, names, statement = self._statement()
        with (
            reading_snapshot(self.engine, self.snapshot) as connection,
            any_text(connection),
        ):
            stored: list[list[Any]] = [[] for _ in names]
            for page in column_pages(connection, statement, self.rows_a_batch):
                for whole, read in zip(stored, page, strict=True):
                    whole.extend(read)
                if len(stored[0]) >= self.rows_a_batch:
                    yield self._opened(keys, dict(zip(names, stored, strict=True)))
                    stored = [[] for _ in names]
            if stored[0]:
                yield self._opened(keys, dict(zip(names, stored, strict=True)))

    def _opened(self, keys: Sequence[str], stored: Mapping[str, Sequence[Any]]) -> Batch:
        columns = {name: self._open(name, stored) for name in self.columns}
        key_columns = [stored[key] for key in keys]
        if not any(issubclass(kind, FieldError) for values in columns.values() for kind in set(map(type, values))):
            return Batch(columns, key_columns, 0)
        readable = [True] * len(key_columns[0])
        for values in columns.values():
            readable = [ok and not isinstance(value, FieldError) for ok, value in zip(readable, values, strict=True)]
        return Batch(
            {name: _kept(values, readable) for name, values in columns.items()},
            [_kept(values, readable) for values in key_columns],
            readable.count(False),
        )

    def _open(self, name: str, stored: Mapping[str, Sequence[Any]]) -> Sequence[Any]:
        field = self.fields.get(name)
        if field is None:
            return stored[name]
        bound = [b for b in field.bound_names if b in stored]
        if len(bound) == 1:  # as usual; in a quarter of the time
            rows = [{bound[0]: value} for value in stored[bound[0]]]
        else:
            rows = [dict(zip(bound, values, strict=True)) for values in zip(*(stored[b] for b in bound), strict=True)]
        return field.open_many(only_live(stored[name], self.live), rows or None, on_error="mark")


@contextmanager
def any_text(connection: Connection) -> Iterator[None]:
    """On SQLite, read text that is no UTF-8 as well, its odd bytes as half characters: no cell may end a scan."""
    if connection.dialect.name != "sqlite":
        yield
        return
    driver: Any = connection.connection.dbapi_connection
    before = driver.text_factory
    driver.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
    try:
        yield
    finally:
        driver.text_factory = before


def only_live(stored: Sequence[Any], live: frozenset[bytes]) -> Sequence[Any]:
    """Stored values, with nothing in the place of those that name another key than the live ones."""
    # The usual batch by its few headers; what is too short for the rest of a value does not open either.
    if set(map(type, stored)) == {bytes} and all(_is_live(head, live) for head in set(map(HEAD, stored))):
        return stored
    return [value if value is None or key_id_of(value) in live else b"" for value in stored]


def _is_live(head: bytes, live: frozenset[bytes]) -> bool:
    return head[:1] == FORMAT_BYTE and head[KEY_ID] in live


def key_id_of(sealed: object) -> bytes | None:
    """The key that a stored value names; None when it is no sealed value."""
    try:
        return SealedValue.parse(bytes(sealed)).key_id if isinstance(sealed, bytes | memoryview) else None
    except FieldError:
        return None


def _kept(values: Sequence[Any], keep: Sequence[bool]) -> list[Any]:
    return list(compress(values, keep))
