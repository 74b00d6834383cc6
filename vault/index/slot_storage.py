"""Slot storage: the database index of a slot, made while services go on, and its column's length on MariaDB.

PostgreSQL makes it CONCURRENTLY. MariaDB makes it in place without a lock (InnoDB's online DDL). SQLite has one writer,
who waits while it is made.
"""

import hashlib
from typing import Any, Final

from sqlalchemy import Engine, inspect, text
from sqlalchemy.exc import DBAPIError

from vault.errors import ChangeoverError

__all__ = ["drop_slot_index", "index_slot_column", "slot_index_name"]

MARIADB: Final = frozenset({"mysql", "mariadb"})
# PostgreSQL's limit on names, the shortest of the three.
LONGEST_NAME: Final = 63


def slot_index_name(table: str, column: str) -> str:
    """As SQLAlchemy names the index of a column, cut where it is too long for PostgreSQL."""
    name = f"ix_{table}_{column}"
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def index_slot_column(
    engine: Engine, schema: str | None, table: str, column: str, *, unique: bool, length: int
) -> bool:
    """Make the database index of a slot, unless there is one; whether it was made. length: of its terms, in bytes.

    Raises: ChangeoverError where rows that are there already, or this role's rights, do not allow it.
    """
    if engine.dialect.name in MARIADB:
        _fit(engine, schema, table, column, length)
    _drop_invalid(engine, schema, table, column)
    if any(bool(found["unique"]) >= unique for found in _indexes(engine, schema, table, column)):
        return False
    quote = engine.dialect.identifier_preparer.quote
    name, place = quote(slot_index_name(table, column)), _place(engine, schema, table)
    kind = "UNIQUE INDEX" if unique else "INDEX"
    match engine.dialect.name:
        case "postgresql" if _is_partitioned(engine, place):
            raise ChangeoverError(
                f"PostgreSQL makes no index CONCURRENTLY on {table}, which is partitioned, and one that is not stops"
                " writers meanwhile: make it yourself, so or partition by partition (CREATE INDEX ON ONLY, ATTACH"
                f" PARTITION), and go on by the same command:\nCREATE {kind} {name} ON {place} ({quote(column)});"
            )
        case "postgresql":
            statement = f"CREATE {kind} CONCURRENTLY {name} ON {place} ({quote(column)})"
        case "sqlite":
            in_schema = name if schema is None else f"{quote(schema)}.{name}"
            statement = f"CREATE {kind} {in_schema} ON {quote(table)} ({quote(column)})"
        case _:
            statement = f"ALTER TABLE {place} ADD {kind} {name} ({quote(column)}), ALGORITHM=INPLACE, LOCK=NONE"
    _run(engine, statement, table)
    return True


def drop_slot_index(engine: Engine, schema: str | None, table: str, column: str) -> None:
    """Drop the database indexes of a slot that has been left; nothing where there is none. Raises: ChangeoverError."""
    quote = engine.dialect.identifier_preparer.quote
    place = _place(engine, schema, table)
    for found in _indexes(engine, schema, table, column):
        name = quote(str(found["name"]))
        in_schema = name if schema is None else f"{quote(schema)}.{name}"
        if engine.dialect.name in MARIADB:
            statement = f"ALTER TABLE {place} DROP INDEX {name}, ALGORITHM=INPLACE, LOCK=NONE"
        elif engine.dialect.name != "postgresql":
            statement = f"DROP INDEX {in_schema}"
        elif found.get("duplicates_constraint"):
            statement = f"ALTER TABLE {place} DROP CONSTRAINT {name}"
        elif _is_partitioned(engine, in_schema):
            statement = f"DROP INDEX {in_schema}"  # of all partitions; it takes no time once nobody holds them
        else:
            statement = f"DROP INDEX CONCURRENTLY {in_schema}"
        _run(engine, statement, table)


def _is_partitioned(engine: Engine, place: str) -> bool:
    """Of a table or an index of PostgreSQL, by its quoted name."""
    kind = text("SELECT relkind IN ('p', 'I') FROM pg_class WHERE oid = to_regclass(:place)")
    with engine.connect() as connection:
        return bool(connection.scalar(kind, {"place": place.replace("%%", "%")}))


def _indexes(engine: Engine, schema: str | None, table: str, column: str) -> list[Any]:
    return [one for one in inspect(engine).get_indexes(table, schema=schema) if one["column_names"] == [column]]


def _drop_invalid(engine: Engine, schema: str | None, table: str, column: str) -> None:
    """What is left where CREATE INDEX CONCURRENTLY was ended in its middle."""
    if engine.dialect.name != "postgresql":
        return
    found = text(
        "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid"
        " JOIN pg_namespace n ON n.oid = t.relnamespace JOIN pg_attribute a ON a.attrelid = t.oid AND i.indkey[0] ="
        " a.attnum WHERE NOT i.indisvalid AND c.relkind = 'i' AND t.relname = :table AND a.attname = :column"
        " AND n.nspname = COALESCE(:schema, current_schema())"
    )
    with engine.connect() as connection:
        names = connection.scalars(found, {"table": table, "column": column, "schema": schema}).all()
    for name in names:
        _run(engine, f"DROP INDEX CONCURRENTLY {_place(engine, schema, str(name))}", table)


def _fit(engine: Engine, schema: str | None, table: str, column: str, length: int) -> None:
    """MariaDB alone has columns of fixed length, and would fill a shorter term up with zeros."""
    (found,) = [one for one in inspect(engine).get_columns(table, schema=schema) if one["name"] == column]
    if getattr(found["type"], "length", None) != length:
        quote = engine.dialect.identifier_preparer.quote
        place = _place(engine, schema, table)
        _run(engine, f"ALTER TABLE {place} MODIFY COLUMN {quote(column)} BINARY({length}) NULL", table)


def _run(engine: Engine, statement: str, table: str) -> None:
    refused: str | None = None
    try:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql(statement)
    except DBAPIError as error:
        code = getattr(error.orig, "sqlstate", None) or (getattr(error.orig, "args", None) or ["?"])[0]
        refused = f"the database did not do this on {table} ({code}); do it by a role that may, and go on by the same"
    if refused is not None:
        raise ChangeoverError(f"{refused} command:\n{statement};")


def _place(engine: Engine, schema: str | None, name: str) -> str:
    quote = engine.dialect.identifier_preparer.quote
    return quote(name) if schema is None else f"{quote(schema)}.{quote(name)}"
