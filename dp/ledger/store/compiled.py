"""Compiled: the text of a statement for a database, made once; the driver runs it with values by name.

SQLAlchemy takes longer to prepare a statement for execution than SQLite to run it, also when it has compiled it before.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, CursorResult, Dialect, Insert, Update
from sqlalchemy.sql.selectable import SelectBase

__all__ = ["NAMED", "Schemas", "Text", "knows_blocks", "read", "schemas_of", "text_of"]

Schemas: TypeAlias = tuple[tuple[str | None, str | None], ...]

Statement: TypeAlias = SelectBase | Insert | Update

NAMED: Final = re.compile(r"%\((\w+)\)s")


@dataclass(frozen=True, slots=True)
class Text:
    """names: of the parameters in their order, where the driver takes them by that. fixed: values of the statement."""

    sql: str
    names: tuple[str, ...] | None
    fixed: Mapping[str, Any]

    def parameters(self, values: Mapping[str, Any]) -> dict[str, Any] | tuple[Any, ...]:
        every = {**self.fixed, **values}
        return every if self.names is None else tuple(every[name] for name in self.names)


def read(connection: Connection, statement: SelectBase, values: Mapping[str, Any]) -> CursorResult[Any]:
    """Rows as the driver gives them: no type of SQLAlchemy's sees them. values: by name, of every parameter."""
    text = text_of(connection.dialect, schemas_of(connection), statement, tuple(values))
    return connection.exec_driver_sql(text.sql, text.parameters(values))


def schemas_of(connection: Connection) -> Schemas:
    """Where the engine's option schema_translate_map leads names to."""
    translated: Mapping[str | None, str | None] = connection.get_execution_options().get("schema_translate_map") or {}
    return tuple(translated.items())


@lru_cache(maxsize=512)
def text_of(
    dialect: Dialect, schemas: Schemas, statement: SelectBase | Insert | Update, names: tuple[str, ...]
) -> Text:
    options: dict[str, Any] = {"schema_translate_map": dict(schemas), "render_schema_translate": True}
    compiled = statement.compile(dialect=dialect, column_keys=list(names), **(options if schemas else {}))
    fixed = {name: value for name, value in compiled.params.items() if name not in names}
    order = compiled.positiontup if dialect.positional else None
    return Text(str(compiled), None if order is None else tuple(order), fixed)


def knows_blocks(dialect: Dialect) -> bool:
    """Whether several statements can be sent as one block. MySQL has none outside a procedure."""
    return dialect.paramstyle == "pyformat" and bool(getattr(dialect, "is_mariadb", False))
