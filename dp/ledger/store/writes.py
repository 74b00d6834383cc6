"""Writes: statements that must each touch so many rows, run by the driver from text that was compiled once.

SQLAlchemy takes longer to prepare one of them than SQLite to run it, and all of it happens while others wait for the
lock. PostgreSQL and MariaDB take several in one statement, and so in one turn:

    WITH w0 AS (UPDATE ... RETURNING 1), w1 AS (INSERT ... RETURNING 1)
    SELECT (SELECT count(*) FROM w0), (SELECT count(*) FROM w1)

    BEGIN NOT ATOMIC DECLARE w0, w1 BIGINT; UPDATE ...; SET w0 = ROW_COUNT(); INSERT ...; SET w1 = ROW_COUNT();
    SELECT w0, w1; END
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, TypeAlias, cast

from sqlalchemy import Connection, Dialect, Insert, Update

from dp.errors import LedgerError
from dp.ledger.store.compiled import NAMED, Schemas, Text, knows_blocks, schemas_of, text_of

__all__ = ["Write", "require_same", "write"]

Parts: TypeAlias = "tuple[tuple[Insert | Update, tuple[str, ...]], ...]"


@dataclass(frozen=True, slots=True)
class Write:
    """statement: one that was built once, since its text is kept for it. values: by name, of every parameter.

    rows: how many it must touch. No two writes that go together touch the same row.
    """

    statement: Insert | Update
    values: Mapping[str, Any]
    rows: int = 1


def write(connection: Connection, writes: Sequence[Write]) -> None:
    """Raises: LedgerError where one touches another number of rows (see require_same)."""
    dialect, schemas = connection.dialect, schemas_of(connection)
    if len(writes) > 1 and (joined := _joined(dialect)) is not None:
        together = joined(dialect, schemas, tuple((each.statement, tuple(each.values)) for each in writes))
        names = chain.from_iterable(_own_names(at, tuple(each.values)) for at, each in enumerate(writes))
        values = dict(zip(names, chain.from_iterable(each.values.values() for each in writes), strict=True))
        with _unread(connection) if together.names is not None else nullcontext():
            touched = connection.exec_driver_sql(together.sql, together.parameters(values)).one()
        require_same(tuple(touched) == tuple(each.rows for each in writes))
        return
    for each in writes:
        text = text_of(dialect, schemas, each.statement, tuple(each.values))
        require_same(connection.exec_driver_sql(text.sql, text.parameters(each.values)).rowcount == each.rows)


@contextmanager
def _unread(connection: Connection) -> Iterator[None]:
    """Has psycopg send what is executed as it is, with $1 for the first value.

    It looks for %(name)s in a text of more than 50 values each time anew, which takes longer than to execute it.
    """
    driver = cast("Any", connection.connection.driver_connection)
    before, driver.cursor_factory = driver.cursor_factory, cast("Any", connection.dialect.loaded_dbapi).RawCursor
    try:
        yield
    finally:
        driver.cursor_factory = before


@lru_cache(maxsize=512)
def _in_one_with(dialect: Dialect, schemas: Schemas, parts: Parts) -> Text:
    texts = [text_of(dialect, schemas, statement, names) for statement, names in parts]
    steps = ", ".join(f"w{at} AS ({_renamed(text.sql, at)} RETURNING 1)" for at, text in enumerate(texts))
    counts = ", ".join(f"(SELECT count(*) FROM w{at})" for at in range(len(texts)))  # noqa: S608 (a number is put in)
    together = Text(f"WITH {steps} SELECT {counts}", None, _fixed(texts))
    return _numbered(together) if dialect.driver == "psycopg" else together


@lru_cache(maxsize=512)
def _in_one_block(dialect: Dialect, schemas: Schemas, parts: Parts) -> Text:
    texts = [text_of(dialect, schemas, statement, names) for statement, names in parts]
    counts = ", ".join(f"w{at}" for at in range(len(texts)))
    steps = " ".join(f"{_renamed(text.sql, at)}; SET w{at} = ROW_COUNT();" for at, text in enumerate(texts))
    return Text(f"BEGIN NOT ATOMIC DECLARE {counts} BIGINT; {steps} SELECT {counts}; END", None, _fixed(texts))


@lru_cache(maxsize=512)
def _own_names(at: int, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"w{at}_{name}" for name in names)


def _fixed(texts: Sequence[Text]) -> dict[str, Any]:
    return {f"w{at}_{name}": value for at, text in enumerate(texts) for name, value in text.fixed.items()}


def _renamed(sql: str, at: int) -> str:
    """With parameters of its own, whatever those of the others are called."""
    return NAMED.sub(rf"%(w{at}_\1)s", sql)


def _numbered(text: Text) -> Text:
    """With $1 for the first of its parameters."""
    names = tuple(dict.fromkeys(NAMED.findall(text.sql)))
    numbers = {name: f"${number}" for number, name in enumerate(names, 1)}
    return Text(NAMED.sub(lambda found: numbers[found[1]], text.sql).replace("%%", "%"), names, text.fixed)


def _joined(dialect: Dialect) -> Callable[[Dialect, Schemas, Parts], Text] | None:
    """What makes one statement of several; None where that is not known."""
    if dialect.name == "postgresql" and dialect.paramstyle == "pyformat":
        return _in_one_with
    return _in_one_block if knows_blocks(dialect) else None


def require_same(same: bool) -> None:
    """Raises: LedgerError where something changed since it was read, which the lock on the audit's head forbids."""
    if not same:
        raise LedgerError(
            "a budget was changed by somebody who did not lock the audit's head: verify the audit, and let nobody else"
            " write to the ledger's tables"
        )
