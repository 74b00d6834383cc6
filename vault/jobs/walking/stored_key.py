"""Stored key: a primary key as the driver gives it and takes it, past what the declared type makes of it.

A declared type may change a value on its way: a Decimal that SQLite rounds, a UUID that is text in the database, a
date that was written in another form. Such a key would be compared otherwise than it is ordered, and a page would be
read for ever, or a row never be met again. So jobs walk, and find rows again, by what is stored.
"""

from typing import Any

from sqlalchemy import Column, Table
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.types import TypeEngine, UserDefinedType

from vault.errors import DefinitionError
from vault.rows.raw_table import raw_table

__all__ = ["StoredKey", "as_declared", "job_table", "key_kind"]


class StoredKey(UserDefinedType[Any]):
    """Compiles to the declared type where its name is wanted, and processes no value in either direction."""

    cache_ok = True

    def __init__(self, declared: TypeEngine[Any]) -> None:
        self.declared = declared


@compiles(StoredKey)
def _declared_name(stored: StoredKey, compiler: Any, **options: Any) -> str:
    return str(compiler.process(stored.declared, **options))


def as_declared(name: str) -> str:
    """The label of a key column that a job reads in its declared type too, as a row-bound field needs it."""
    return f"{name} as declared"


def key_kind(table: Table) -> str:
    """What the key of a job's table is made of, as text: a checkpoint in a key of another kind is of no use."""
    kinds = [(c.name, c.type.declared if isinstance(c.type, StoredKey) else c.type) for c in table.primary_key.columns]
    return ", ".join(f"{name} {type(kind).__qualname__}" for name, kind in kinds)


def job_table(table: Table) -> Table:
    """The raw table, its primary key as it is stored.

    Raises: DefinitionError for a table without a primary key, which cannot be walked.
    """
    raw = raw_table(table)
    if not raw.primary_key.columns:
        raise DefinitionError(f"{table.fullname} has no primary key to walk it by: declare one")
    for column in raw.primary_key.columns:
        _store(column)
    return raw


def _store(column: "Column[Any]") -> None:
    column.type = StoredKey(column.type)
