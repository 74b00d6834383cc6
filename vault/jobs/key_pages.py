"""Key pages: a table walked in primary-key order, a page at a time, without OFFSET.

Each page begins after the last key of the one before, so that rows which appear or vanish meanwhile neither
shift the others nor make one be seen twice.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Engine, RowMapping, Select, Table, select

from vault.errors import DefinitionError
from vault.key_order import after_key


def page_statement(table: Table, columns: Sequence[str], last: Sequence[Any] | None, rows: int) -> Select[Any]:
    """The next page: the primary key and `columns`, at most `rows` rows, in key order."""
    keys = list(table.primary_key.columns)
    others = [table.c[name] for name in columns if name not in table.primary_key.columns]
    statement = select(*keys, *others).order_by(*keys).limit(rows)
    return statement if last is None else statement.where(after_key(table.primary_key.columns, last))


def pages(engine: Engine, table: Table, columns: Sequence[str], rows: int) -> Iterator[Sequence[RowMapping]]:
    """Every row of the table, in pages; each page is read in a transaction of its own, ended before it is given.

    Raises: DefinitionError for a table without a primary key, which has no next page.
    """
    keys = [column.name for column in table.primary_key.columns]
    if not keys:
        raise DefinitionError(f"{table.fullname} has no primary key to walk it by: declare one")
    last: Sequence[Any] | None = None
    while True:
        with engine.connect() as connection:
            page = connection.execute(page_statement(table, columns, last, rows)).mappings().all()
        if page:
            yield page
        if len(page) < rows:
            return
        last = [page[-1][key] for key in keys]
