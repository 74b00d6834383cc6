"""Page: some rows of a table as one statement read them, by column, with their primary keys; and how pages follow."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import Engine, Select, Table, and_, or_

from vault.jobs.change import Key
from vault.jobs.walking.key_pages import page_statement
from vault.jobs.walking.key_range import WHOLE, KeyRange
from vault.jobs.walking.stored_key import as_declared
from vault.rows.scan import any_text

__all__ = ["InOrder", "OfKeys", "Page", "read_rows"]

# Ours: rows that are found by their keys by one statement.
MOST_KEYS: Final = 200


@dataclass(frozen=True, slots=True, repr=False)
class Page:
    """keys: as the driver gives them. columns: what was read, by name, in the order of the keys."""

    keys: Sequence[Key]
    columns: dict[str, Sequence[Any]]

    def __len__(self) -> int:
        return len(self.keys)


class InOrder:
    """All rows of a range for which the conditions are true, in key order. ended: there are no more."""

    def __init__(
        self,
        engine: Engine,
        table: Table,
        reads: Sequence[str],
        at: KeyRange = WHOLE,
        conditions: Sequence[Any] = (),
    ) -> None:
        self._engine, self._table, self._reads = engine, table, reads
        self._at = at
        self._conditions = conditions
        self.ended = False

    def take(self, rows: int) -> Page:
        """The next rows, in a transaction of their own; the same again after an error."""
        statement = page_statement(self._table, self._reads, self._at, rows, self._engine.dialect.name)
        page = _read(self._engine, self._table, self._reads, statement.where(*self._conditions))
        self.ended = len(page) < rows
        if page.keys:
            self._at = replace(self._at, after=page.keys[-1])
        return page


class OfKeys:
    """The rows with these keys that are still there."""

    def __init__(self, engine: Engine, table: Table, reads: Sequence[str], keys: Sequence[Key]) -> None:
        self._engine, self._table, self._reads = engine, table, reads
        self._left = list(keys)

    @property
    def ended(self) -> bool:
        return not self._left

    def take(self, rows: int) -> Page:
        """As InOrder.take."""
        some = min(rows, MOST_KEYS)
        page = read_rows(self._engine, self._table, self._reads, self._left[:some])
        del self._left[:some]
        return page


def read_rows(engine: Engine, table: Table, reads: Sequence[str], keys: Sequence[Key]) -> Page:
    """The rows with these keys that are there now, in key order."""
    columns = list(table.primary_key.columns)
    these = or_(*(and_(*(_is(c, part) for c, part in zip(columns, key, strict=True))) for key in keys))
    everything = page_statement(table, reads, KeyRange(), len(keys), engine.dialect.name)
    return _read(engine, table, reads, everything.where(these))


def _is(column: Any, part: Any) -> Any:
    return column.is_(None) if part is None else column == part


def _read(engine: Engine, table: Table, reads: Sequence[str], statement: Select[Any]) -> Page:
    with engine.connect() as connection, any_text(connection):
        rows = connection.execute(statement).all()
    width = len(table.primary_key.columns)
    keys = [tuple(row[:width]) for row in rows]
    by_column = list(zip(*rows, strict=True)) if rows else [()] * (width + len(reads))
    names = [*(column.name for column in table.primary_key.columns), *(_label(table, name) for name in reads)]
    return Page(keys, dict(zip(names, by_column, strict=True)))


def _label(table: Table, name: str) -> str:
    return as_declared(name) if name in table.primary_key.columns else name
