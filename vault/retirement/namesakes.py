"""Namesakes: tables of the same name and sealed column in other schemas of a PostgreSQL database.

One that schema_translate_map, or a search_path that is set later, leads services to has the same label, and is no part
of the policy: what lies there is neither counted nor guarded.
"""

from collections.abc import Iterable

from sqlalchemy import Engine, Table, text

from vault.mapping.definitions import sealed_columns

__all__ = ["namesakes"]

ASKED = text(
    "SELECT DISTINCT table_schema FROM information_schema.columns WHERE table_name = :table AND column_name = :column"
    " AND data_type = 'bytea' AND table_schema <> COALESCE(CAST(:schema AS text), current_schema())"
    " AND table_schema NOT LIKE 'pg\\_%' ORDER BY table_schema"
)


def namesakes(engine: Engine, tables: Iterable[Table]) -> list[str]:
    """schema.table of each that this role sees; nothing on MariaDB and SQLite, whose schemas are databases."""
    if engine.dialect.name != "postgresql":
        return []
    found: dict[str, None] = {}
    with engine.connect() as connection:
        for table in tables:
            for column in sealed_columns(table):
                place = {"table": table.name, "column": column.name, "schema": table.schema}
                found |= {f"{schema}.{table.name}": None for schema in connection.scalars(ASKED, place)}
    return list(found)
