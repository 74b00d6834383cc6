"""Sampling: which rows of a table are looked at, where not all are: picked at random by the database."""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Engine, Table, func, select

from vault.jobs.change import Key

__all__ = ["is_picked", "picked_keys"]

# SQLite's random() is a whole number of 64 bits.
SQLITE_PARTS: Final = 1_000_000_000
MARIADB: Final = frozenset({"mysql", "mariadb"})


def picked_keys(engine: Engine, table: Table, rows: int) -> Sequence[Key]:
    """The primary keys, in order, of so many rows picked at random; all if there are fewer."""
    keys = list(table.primary_key.columns)
    picked = select(*keys).order_by(_random(engine.dialect.name)).limit(rows).subquery()
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(select(*picked.c).order_by(*picked.c))]


def is_picked(share: float, dialect: str) -> ColumnElement[bool]:
    """True of each row with this probability, anew for each row and each time."""
    if dialect == "sqlite":
        picked: ColumnElement[bool] = func.abs(func.random() % SQLITE_PARTS) < round(share * SQLITE_PARTS)
        return picked
    below: ColumnElement[bool] = _random(dialect) < share
    return below


def _random(dialect: str) -> Any:
    return func.rand() if dialect in MARIADB else func.random()
