"""Exact SQL: names and statements as the database is to get them, whatever a driver makes of percent signs.

Drivers that put parameters in the place of %s halve every %% of a statement, so SQLAlchemy's quoted names hold twice as
many; a statement that is given to a driver's cursor without parameters is not touched at all.
"""

from typing import Final

from sqlalchemy import Dialect, Engine

__all__ = ["exact_name", "exact_place", "exact_quoted", "for_driver"]

HALVING: Final = frozenset({"format", "pyformat"})


def exact_quoted(dialect: Dialect, name: str) -> str:
    """The name, quoted where it has to be."""
    quoted = dialect.identifier_preparer.quote(name)
    return quoted.replace("%%", "%") if _halves(dialect) else quoted


def exact_name(engine: Engine, name: str) -> str:
    """The name, quoted where it has to be."""
    return exact_quoted(engine.dialect, name)


def exact_place(engine: Engine, schema: str | None, name: str) -> str:
    """The name of what lies in a schema."""
    quoted = exact_name(engine, name)
    return quoted if schema is None else f"{exact_name(engine, schema)}.{quoted}"


def for_driver(engine: Engine, statement: str) -> str:
    """An exact statement as Connection.exec_driver_sql() is to be given it."""
    return statement.replace("%", "%%") if _halves(engine.dialect) else statement


def _halves(dialect: Dialect) -> bool:
    return dialect.paramstyle in HALVING
