"""Namesakes: tables of the same name and sealed column in other schemas of the database, or of a MariaDB server.

One that schema_translate_map, or a search_path that is set later, leads services to has the same label, and is no part
of the policy: what lies there is counted here, as far as this role may, and neither moved nor guarded.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Column, Connection, Engine, LargeBinary, MetaData, Table, func, select, text
from sqlalchemy.exc import DBAPIError

from vault.mapping.definitions import sealed_columns
from vault.retirement.key_refusal import OF_VALUE
from vault.rows.key_uses import KeyUse, names_key
from vault.triggers.exact_sql import exact_place
from vault.triggers.patient_ddl import is_not_allowed

__all__ = ["Namesake", "namesake_uses", "namesakes"]

# By the catalogue, which shows a role also what it has no right to.
POSTGRESQL: Final = text(
    "SELECT DISTINCT n.nspname FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid"
    " JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relname = :table AND a.attname = :column"
    " AND a.atttypid = CAST('bytea' AS regtype) AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'f', 'm', 'v')"
    " AND n.nspname NOT LIKE 'pg\\_%' ORDER BY n.nspname"
)
# In which a name without a schema is found: of a search_path it need not be the first one.
FOUND_IN: Final = text(
    "SELECT n.nspname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
    " WHERE c.oid = to_regclass(:place)"
)
MARIADB: Final = text(
    "SELECT DISTINCT table_schema FROM information_schema.columns WHERE table_name = :table AND column_name = :column"
    " AND data_type IN ('varbinary', 'tinyblob', 'blob', 'mediumblob', 'longblob')"
    " ORDER BY table_schema"
)
# Files that a connection to SQLite attaches are known to that connection alone.
ASKED: Final = {"postgresql": POSTGRESQL, "mysql": MARIADB, "mariadb": MARIADB}


@dataclass(frozen=True, slots=True)
class Namesake:
    """columns: those that have the name of a sealed one."""

    schema: str
    table: str
    columns: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}"


def namesakes(engine: Engine, tables: Sequence[Table]) -> list[Namesake]:
    """Each; on MariaDB that this role sees."""
    asked = ASKED.get(engine.dialect.name)
    if asked is None:
        return []
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    with engine.connect() as connection:
        for table in tables:
            for column in sealed_columns(table):
                place = {"table": table.name, "column": column.name}
                for schema in connection.scalars(asked, place):
                    found[schema, table.name] = (*found.get((schema, table.name), ()), column.name)
        mapped = {(_schema_of(connection, engine, table), table.name) for table in tables}  # each is counted as itself
    return [Namesake(*place, columns) for place, columns in found.items() if place not in mapped]


def namesake_uses(engine: Engine, found: Sequence[Namesake], key_id: bytes) -> tuple[list[KeyUse], list[Namesake]]:
    """The values there that name the data key; and those that this role may not read."""
    uses, unread = [], []
    for one in found:
        try:
            uses += _uses(engine, one, key_id)
        except DBAPIError as error:
            if not is_not_allowed(error):
                raise
            unread.append(one)
    return uses, unread


def _schema_of(connection: Connection, engine: Engine, table: Table) -> str | None:
    if table.schema is not None or engine.dialect.name != "postgresql":
        return table.schema or engine.dialect.default_schema_name
    found = connection.scalar(FOUND_IN, {"place": exact_place(engine, None, table.name)})
    return engine.dialect.default_schema_name if found is None else str(found)


def _uses(engine: Engine, namesake: Namesake, key_id: bytes) -> list[KeyUse]:
    columns: list[Column[bytes]] = [Column(name, LargeBinary()) for name in namesake.columns]
    table = Table(namesake.table, MetaData(), *columns, schema=namesake.schema)
    with engine.connect() as connection:
        if engine.dialect.name == "postgresql":  # an error then, where it would hide rows of this role
            connection.exec_driver_sql("SET LOCAL row_security = off")
        counted = [
            (connection.scalar(select(func.count()).where(names_key(column, OF_VALUE, key_id))) or 0, column.name)
            for column in table.columns
        ]
    return [KeyUse(number, "values", f"{namesake}.{name}") for number, name in counted if number]
