"""SQLite: its one writer holds the whole database, so the rows are set one after the other.

Bytes are compared by the UPDATE itself. What SQLite would compare by a collation or by its value is read again first.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Table, select

from vault.jobs.change import Key
from vault.jobs.changes import Columns
from vault.jobs.writing.comparable import stored_columns
from vault.jobs.writing.held_rows import Row

__all__ = ["SqliteStatements"]

# Source: sqlite.org/limits.html, SQLITE_MAX_VARIABLE_NUMBER before 3.32 (999).
MOST_PARAMETERS: Final = 900


class SqliteStatements:
    """Satisfies HoldsAndPuts. A key that holds NULL, which SQLite allows, is found by IS."""

    def __init__(
        self, connection: Connection, table: Table, compared: Table, compares: Sequence[str], sets: Sequence[str]
    ) -> None:
        quote = connection.dialect.identifier_preparer.quote
        names = [key.name for key in table.primary_key.columns]
        place = connection.dialect.identifier_preparer.format_table(table)

        def reading(table: Table, others: Sequence[str]) -> str:
            read = select(*stored_columns(table, names), *stored_columns(table, others))
            columns, _, _ = str(read.compile(dialect=connection.dialect)).rpartition("\nFROM ")
            on = " AND ".join(f"{place}.{quote(name)} IS g.k{at}" for at, name in enumerate(names))
            # CROSS JOIN: in this order, each row by the key's index.
            return f"{columns} FROM g CROSS JOIN {place} ON {on}"

        self._width = len(names)
        self._given = f"WITH g ({', '.join(f'k{at}' for at in range(len(names)))}) AS (VALUES "
        self._hold, self._look = reading(compared, compares), reading(table, sets)
        values = ", ".join(f"{quote(name)} = ?" for name in sets)
        found = " AND ".join(f"{quote(name)} IS ?" for name in names)
        self._put = f"UPDATE {place} SET {values} WHERE {found}"  # noqa: S608  # quoted names

        self._put_same = f"{self._put} AND {' AND '.join(f'{quote(name)} IS ?' for name in compares)}"
        self.put_if = self._put_if if _has_one_row_a_key(connection, table, names) else None

    def _put_if(self, connection: Connection, keys: Columns, old: Columns, new: Columns) -> int:
        """To SQLite, bytes are the same as bytes alone, whatever the collation and the affinity of the column."""
        self._begin(connection)
        return connection.exec_driver_sql(self._put_same, [*zip(*new, *keys, *old, strict=True)]).rowcount

    def hold(self, connection: Connection, keys: Columns) -> Sequence[Row]:
        """Begins the writing transaction, if the caller has not."""
        self._begin(connection)
        return self._read(connection, keys, self._hold)

    def put(self, connection: Connection, keys: Columns, new: Columns) -> int:
        return connection.exec_driver_sql(self._put, [*zip(*new, *keys, strict=True)]).rowcount

    def look(self, connection: Connection, keys: Columns) -> Sequence[Row]:
        return self._read(connection, keys, self._look)

    @staticmethod
    def _begin(connection: Connection) -> None:
        driver: Any = connection.connection.driver_connection
        if not driver.in_transaction:
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    def _read(self, connection: Connection, keys: Columns, reading: str) -> list[Row]:
        one = f"({','.join('?' * self._width)})"
        found: list[Row] = []
        for part in self._parts([*zip(*keys, strict=True)]):
            statement = f"{self._given}{','.join([one] * len(part))}) {reading}"
            found += connection.exec_driver_sql(statement, tuple([value for key in part for value in key])).all()
        return found

    def _parts(self, keys: Sequence[Key]) -> Iterator[Sequence[Key]]:
        length = max(1, MOST_PARAMETERS // self._width)
        return (keys[at : at + length] for at in range(0, len(keys), length))


def _has_one_row_a_key(connection: Connection, table: Table, names: Sequence[str]) -> bool:
    """Whether the database has that primary key too, so that no two rows have a key that is not NULL."""
    schema = f"{connection.dialect.identifier_preparer.quote(table.schema)}." if table.schema else ""
    name = connection.dialect.identifier_preparer.quote(table.name)
    found = connection.exec_driver_sql(f"PRAGMA {schema}table_info({name})").mappings()
    keys = {row["name"].lower() for row in found if row["pk"]}
    return bool(keys) and keys <= {name.lower() for name in names}
