"""MariaDB: rows of a batch are held with SKIP LOCKED in key order, and set by one UPDATE joined to a list of values."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, CursorResult, Table, select
from sqlalchemy.exc import StatementError

from vault.jobs.changes import Columns
from vault.jobs.writing.comparable import stored_columns
from vault.jobs.writing.held_rows import Row
from vault.jobs.writing.mariadb_columns import MariadbColumn
from vault.jobs.writing.mariadb_literal import mariadb_literal

__all__ = ["MariadbStatements"]

# A list of a thousand would be made a table, and the rows be locked in its order.
IN_KEY_ORDER: Final = "SET STATEMENT in_predicate_conversion_threshold = 0 FOR "
# While rows are held, nobody is waited for: who does not wait is not in a circle that InnoDB would end at a service.
AT_ONCE: Final = "SET STATEMENT innodb_lock_wait_timeout = 0 FOR "
# Of these, a join does not find the row by the index.
BY_ROW: Final = frozenset({"enum", "set"})
# Ours: of a longer list the optimizer might look at the first columns only (optimizer_max_sel_arg_weight, 32,000).
MOST_KEYS: Final = 2000
BY_CAST: Final = frozenset({"uuid", "inet4", "inet6"})


class MariadbStatements:
    """Satisfies HoldsAndPuts. touched: columns that the database would set to the time of the change, and that stay."""

    put_if = None  # a list of old values to read costs as much as sending the rows back

    def __init__(
        self,
        connection: Connection,
        table: Table,
        compared: Table,
        columns: Mapping[str, MariadbColumn],
        compares: Sequence[str],
        sets: Sequence[str],
        touched: Sequence[str] = (),
    ) -> None:
        quote = connection.dialect.identifier_preparer.quote
        names = [key.name for key in table.primary_key.columns]
        keys = ", ".join(map(quote, names))
        place = connection.dialect.identifier_preparer.format_table(table)

        def reading(table: Table, others: Sequence[str]) -> str:
            read = select(*stored_columns(table, names), *stored_columns(table, others))
            hinted = read.with_hint(table, "FORCE INDEX (PRIMARY)")
            return f"{hinted.compile(dialect=connection.dialect)} WHERE ({keys}) IN "

        self._by_row = any(columns[name].kind in BY_ROW for name in names)
        self._single = len(names) == 1
        self._hold = (f"{IN_KEY_ORDER}{reading(compared, compares)}", f" ORDER BY {keys} FOR UPDATE SKIP LOCKED")
        self._look = f"{IN_KEY_ORDER}{reading(table, sets)}"
        self._aliases = [f"k{at}" for at in range(len(names))] + [f"n{at}" for at in range(len(sets))]
        on = [f"t.{quote(name)} = {_given(f'k{at}', columns[name])}" for at, name in enumerate(names)]
        values = [f"t.{quote(name)} = g.n{at}" for at, name in enumerate(sets)]
        values += [f"t.{quote(name)} = t.{quote(name)}" for name in touched]
        self._join = f") AS g STRAIGHT_JOIN {place} AS t ON {' AND '.join(on)} SET {', '.join(values)}"
        one = [f"{quote(name)} = %s" for name in sets] + [f"{quote(name)} = {quote(name)}" for name in touched]
        found = [f"{quote(name)} = %s" for name in names]
        self._one = f"{AT_ONCE}UPDATE {place} SET {', '.join(one)} WHERE {' AND '.join(found)}"  # noqa: S608  # quoted names

    def hold(self, connection: Connection, keys: Columns) -> Sequence[Row]:
        return self._read(connection, keys, *self._hold)

    def put(self, connection: Connection, keys: Columns, new: Columns) -> int:
        if self._by_row:
            parameters = zip(*new, *keys, strict=True)
            return sum(connection.exec_driver_sql(self._one, row).rowcount for row in parameters)
        literals = [[*map(mariadb_literal, column)] for column in (*keys, *new)]
        rows = [*map(",".join, zip(*literals, strict=True))]
        first = [f"{column[0]} AS {alias}" for column, alias in zip(literals, self._aliases, strict=True)]
        others = f" UNION ALL VALUES ({'),('.join(rows[1:])})" if len(rows) > 1 else ""
        statement = f"{AT_ONCE}UPDATE (SELECT {', '.join(first)}{others}{self._join}"
        return _execute(connection, statement).rowcount

    def look(self, connection: Connection, keys: Columns) -> Sequence[Row]:
        return self._read(connection, keys, self._look, "")

    def _read(self, connection: Connection, keys: Columns, before: str, after: str) -> list[Row]:
        found: list[Row] = []
        literals = [*map(",".join, zip(*(map(mariadb_literal, column) for column in keys), strict=True))]
        for at in range(0, len(literals), MOST_KEYS):
            rows = literals[at : at + MOST_KEYS]
            listed = f"({','.join(rows)})" if self._single else f"(({'),('.join(rows)}))"
            found += _execute(connection, before + listed + after).all()
        return found


def _execute(connection: Connection, statement: str) -> CursorResult[Any]:
    """The statement holds the batch's values: an error does not show it."""
    try:
        return connection.exec_driver_sql(statement)
    except StatementError as error:
        error.statement = "(a statement with the values of a batch)"
        raise


def _given(alias: str, column: MariadbColumn) -> str:
    """A value of the batch, as what the column's index can be asked for."""
    if column.collation is not None:
        return f"CONVERT(g.{alias} USING {column.charset}) COLLATE {column.collation}"
    return f"CAST(g.{alias} AS {column.kind})" if column.kind in BY_CAST else f"g.{alias}"
