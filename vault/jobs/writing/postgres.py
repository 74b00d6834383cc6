"""PostgreSQL: rows of a batch are held with SKIP LOCKED in key order, and set by one UPDATE from arrays.

Each row is found through the primary key's index, whatever the planner has been told of the table: so a batch costs the
same in a large table as in a small one, and keys of any order and collation will do. These settings end with the
transaction.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from psycopg.adapt import PyFormat, Transformer
from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Select,
    Table,
    any_,
    bindparam,
    cast,
    column,
    func,
    select,
    tuple_,
    update,
)
from sqlalchemy.types import NULLTYPE, UserDefinedType

from vault.jobs.changes import Columns
from vault.jobs.writing.array_literal import array_literal
from vault.jobs.writing.binary_array import BinaryArray, binary_array, send_binary_arrays
from vault.jobs.writing.comparable import stored_columns
from vault.jobs.writing.held_rows import Row
from vault.jobs.writing.postgres_columns import PostgresColumn

__all__ = ["PostgresStatements"]

BY_KEY: Final = (
    "SELECT set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),"
    " set_config('enable_seqscan', 'off', true), set_config('plan_cache_mode', 'force_custom_plan', true)"
)
# The only wait there can be while rows are held is for a unique index. A service that waits for those rows looks for a
# deadlock, of which it would be the victim, once: deadlock_timeout (a second) after it began to wait. So no wait of
# ours lasts beyond half of that, counted from before the first row was held: then its own look finds none.
DEADLOCK: Final = "extract(epoch FROM current_setting('deadlock_timeout')::interval) * 1000"
# Ours: of one wait. Of all, where a unique index is written: {spent} milliseconds are gone.
LOCK_TIMEOUT: Final = f"SELECT set_config('lock_timeout', ceil(least(50, {DEADLOCK} / 2))::text, true)"
ALL_WAITS: Final = f"SELECT set_config('statement_timeout', ceil(greatest(1, {DEADLOCK} / 2 - %s))::text, true)"
NO_MORE: Final = "SET LOCAL statement_timeout TO DEFAULT"
# In Connection.info: when the rows of its transaction were held.
HELD_SINCE: Final = "noisevault rows held since"


class PostgresStatements:
    """Satisfies HoldsAndPuts."""

    put_if = None  # arrays of old values cost the server more than sending the rows back costs both

    def __init__(
        self,
        table: Table,
        compared: Table,
        columns: Mapping[str, PostgresColumn],
        compares: Sequence[str],
        sets: Sequence[str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """clock: of seconds."""
        self._clock = clock
        keys = [columns[key.name] for key in table.primary_key.columns]
        values = [columns[name] for name in sets]
        self._keys, self._values = keys, values
        own = list(table.primary_key.columns)
        self._look = _reading(table, keys, sets)
        # Setting a column of a unique index takes the stronger lock, which the weaker might have to wait for.
        weaker = not any(value.is_unique for value in values)
        self._may_wait = not weaker
        self._hold: Select[Any] = (
            _reading(compared, keys, compares)
            .order_by(*compared.primary_key.columns)
            .with_for_update(skip_locked=True, key_share=weaker, of=compared)
        )
        given = _given("g", {"k": keys, "n": values})
        self._put = (
            update(table)
            .values(dict(zip((table.c[name] for name in sets), _members(given, "n", values), strict=True)))
            .where(*(key == member for key, member in zip(own, _members(given, "k", keys), strict=True)))
        )

    def hold(self, connection: Connection, keys: Columns) -> Sequence[Row]:
        connection.exec_driver_sql(BY_KEY)
        connection.info[HELD_SINCE] = self._clock()
        held = connection.execute(self._hold, self._arrays(connection, keys)).all()
        connection.exec_driver_sql(LOCK_TIMEOUT)
        return held

    def put(self, connection: Connection, keys: Columns, new: Columns) -> int:
        arrays = self._arrays(connection, keys, new)
        if not self._may_wait:
            return connection.execute(self._put, arrays).rowcount
        spent = round((self._clock() - connection.info[HELD_SINCE]) * 1000)
        connection.exec_driver_sql(ALL_WAITS, (spent,))
        put = connection.execute(self._put, arrays).rowcount
        connection.exec_driver_sql(NO_MORE)
        return put

    def look(self, connection: Connection, keys: Columns) -> Sequence[Row]:
        return connection.execute(self._look, self._arrays(connection, keys)).all()

    def _arrays(self, connection: Connection, keys: Columns, new: Columns = ()) -> dict[str, str | BinaryArray]:
        """Each column as an array."""
        driver: Any = connection.connection.driver_connection
        text_of = _text_of(driver)
        is_binary = send_binary_arrays(driver)
        return {
            f"{letter}{at}": (is_binary and binary_array(values, of.type)) or array_literal(values, text_of)
            for letter, columns, given in (("k", self._keys, keys), ("n", self._values, new))
            for at, (of, values) in enumerate(zip(columns, given, strict=False))  # no new values are given to be found
        }


def _reading(table: Table, keys: Sequence[PostgresColumn], others: Sequence[str]) -> Select[Any]:
    """The rows of a batch: their keys and the other columns, as the driver reads them."""
    own = list(table.primary_key.columns)
    if len(keys) == 1 and not keys[0].is_array:
        condition = own[0] == any_(_array("k0", keys[0]))
    else:
        condition = tuple_(*own).in_(select(*_members(_given("g", {"k": keys}), "k", keys)))
    return select(*stored_columns(table, [key.name for key in own]), *stored_columns(table, others)).where(condition)


class _Named(UserDefinedType[Any]):
    """A type by the name that the catalog has for it."""

    cache_ok = True

    def __init__(self, name: str) -> None:
        self.name = name

    def get_col_spec(self, **_options: Any) -> str:
        return self.name.replace("%", "%%")  # the driver halves them


def _array(parameter: str, of: PostgresColumn) -> ColumnElement[Any]:
    """An array of an array would be taken for one of two dimensions: its members travel as text."""
    return cast(bindparam(parameter, type_=NULLTYPE), _Named("text[]" if of.is_array else f"{of.type}[]"))


def _given(name: str, columns: Mapping[str, Sequence[PostgresColumn]]) -> FromClause:
    """The batch as a table of its own."""
    members = [(f"{letter}{at}", of) for letter, group in columns.items() for at, of in enumerate(group)]
    arrays = [_array(member, of) for member, of in members]
    return func.unnest(*arrays).table_valued(*(column(member) for member, _ in members), name=name).render_derived()


def _members(given: FromClause, letter: str, columns: Sequence[PostgresColumn]) -> list[ColumnElement[Any]]:
    members = [given.c[f"{letter}{at}"] for at in range(len(columns))]
    return [
        cast(member, _Named(of.type)) if of.is_array else member for member, of in zip(members, columns, strict=True)
    ]


def _text_of(driver: Any) -> Callable[[Any], str]:
    """How psycopg writes a value of any type that it knows."""
    transformer = Transformer(driver)

    def text_of(value: Any) -> str:
        dumped = transformer.get_dumper(value, PyFormat.TEXT).dump(value)
        return "NULL" if dumped is None else bytes(dumped).decode()

    return text_of
