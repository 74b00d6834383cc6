"""Sample: which rows of a table are looked at, where not all are: so many, or a share, picked by the database."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from sqlalchemy import ColumnElement, Engine, Table, func, select

from vault.jobs.change import Key

__all__ = ["Sample", "is_picked", "picked_keys"]

WRITTEN: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(%?)", re.ASCII)
# SQLite's random() is a whole number of 64 bits.
SQLITE_PARTS: Final = 1_000_000_000
MARIADB: Final = frozenset({"mysql", "mariadb"})


@dataclass(frozen=True, slots=True)
class Sample:
    """rows: so many, all equally likely; or share: each row with this probability, above 0 and at most 1."""

    rows: int | None = None
    share: float | None = None

    @classmethod
    def parse(cls, text: str) -> "Sample":
        """Of "1000" or "2.5%". Raises: ValueError."""
        found = WRITTEN.fullmatch(text.strip())
        if found is None:
            raise ValueError(
                f"a sample is a number of rows, such as 1000, or a share of them, such as 1%, not {text!r}"
            )
        number, percent = Decimal(found[1]), bool(found[2])
        if percent and 0 < number <= 100:
            return cls(share=float(number / 100))
        if not percent and number >= 1 and number == int(number):
            return cls(rows=int(number))
        raise ValueError(f"a sample is at least 1 row, or more than 0% and at most 100%, not {text!r}")


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
