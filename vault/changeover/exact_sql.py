"""Exact SQL: names and statements as the database is to get them, whatever a driver makes of percent signs.

Drivers that put parameters in the place of %s halve every %% of a statement, so SQLAlchemy's quoted names hold twice as
many; a statement that is given to a driver's cursor without parameters is not touched at all.
"""

from typing import Final

from sqlalchemy import Engine

__all__ = ["exact_name", "exact_place", "for_driver"]

HALVING: Final = frozenset({"format", "pyformat"})


def exact_name(engine: Engine, name: str) -> str:
    """The name, quoted where it has to be."""
    quoted = engine.dialect.identifier_preparer.quote(name)
    return quoted.replace("%%", "%") if _halves(engine) else quoted


def exact_place(engine: Engine, schema: str | None, name: str) -> str:
    """The name of what lies in a schema."""
    quoted = exact_name(engine, name)
    return quoted if schema is None else f"{exact_name(engine, schema)}.{quoted}"


def for_driver(engine: Engine, statement: str) -> str:
    """An exact statement as Connection.exec_driver_sql() is to be given it."""
    return statement.replace("%", "%%") if _halves(engine) else statement


def _halves(engine: Engine) -> bool:
    return engine.dialect.paramstyle in HALVING
