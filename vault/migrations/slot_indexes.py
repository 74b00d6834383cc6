"""Slot indexes: the database's index on one of an index's two term columns, of which the model declares that of slot a.

While an index changes over the other slot has one too, and afterwards it alone. None of this is for a revision.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from alembic.operations.ops import CreateIndexOp, DropIndexOp, MigrateOperation, ModifyTableOps
from sqlalchemy import Table

from vault.definitions.index_definition import compound_term_columns
from vault.definitions.index_slot import SLOTS, term_column
from vault.mapping.compound_index import compounds_of
from vault.mapping.definitions import sealed_columns

if TYPE_CHECKING:
    from alembic.autogenerate.api import AutogenContext

__all__ = ["indexed_columns", "without_changeovers"]


def without_changeovers(
    context: "AutogenContext", operation: ModifyTableOps, table: Table | None
) -> "list[MigrateOperation]":
    """The operations on a table, less those that would undo what a changeover of one of its indexes has done."""
    if table is None:
        return operation.ops
    other = {name: pair for pair in _pairs(table) for name in pair}
    second = {pair[1] for pair in other.values()}
    there: set[str] | None = None
    kept = []
    for one in operation.ops:
        name = indexed_columns(one)[0] if len(indexed_columns(one)) == 1 else None
        if name in second and isinstance(one, DropIndexOp):
            continue
        if name in other and isinstance(one, CreateIndexOp):
            there = _indexed(context, operation) if there is None else there
            if name not in there and there & set(other[name]):
                continue
        kept.append(one)
    return kept


def indexed_columns(operation: MigrateOperation) -> list[str]:
    """Of an operation that makes or drops an index."""
    if not isinstance(operation, CreateIndexOp | DropIndexOp):
        return []
    return [column.name for column in operation.to_index().columns]


def _pairs(table: Table) -> "Iterator[tuple[str, ...]]":
    """The term columns, slots a and b, of every index that the model has."""
    for column in sealed_columns(table):
        for index in column.type.index:  # type: ignore[attr-defined]
            yield tuple(term_column(column.name, index.name, slot) for slot in SLOTS)
    for compound in compounds_of(table):
        yield compound_term_columns(compound.declared.name)


def _indexed(context: "AutogenContext", operation: ModifyTableOps) -> set[str]:
    """The columns that have an index of their own in the database."""
    inspector = context.inspector
    if not inspector.has_table(operation.table_name, schema=operation.schema):
        return set()  # created by the same revision
    found: Iterable[list[str | None]] = (
        index["column_names"] for index in inspector.get_indexes(operation.table_name, schema=operation.schema)
    )
    return {names[0] for names in found if len(names) == 1 and names[0] is not None}
