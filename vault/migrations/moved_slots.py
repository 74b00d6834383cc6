"""Moved slots: the database index of an index that reindex has moved to its other slot, which no model declares.

The models index slot a. Alembic would drop the index of slot b, and with it uniqueness, and make one on empty columns.
"""

from collections.abc import Iterable, Sequence

from alembic.operations.ops import AddColumnOp, CreateIndexOp, DropColumnOp, DropIndexOp, MigrateOperation
from sqlalchemy import Table

from vault.index_definition import compound_term_columns
from vault.index_slot import SLOTS, term_column
from vault.mapping.compound_index import declared_compounds
from vault.mapping.definitions import sealed_columns

__all__ = ["without_moved_slots"]


def without_moved_slots(operations: Sequence[MigrateOperation], table: Table | None) -> list[MigrateOperation]:
    """The operations on one table, but for those on the database indexes of slots; table: as the models have it."""
    if table is None:
        return list(operations)
    columns = {one.column.name for one in operations if isinstance(one, AddColumnOp)}
    columns |= {one.column_name for one in operations if isinstance(one, DropColumnOp)}
    left = list(operations)
    for first, second in _slots(table):
        if {first, second} & columns:
            continue  # the index itself comes or goes
        moved = [one for one in left if isinstance(one, DropIndexOp) and _is_of(one, second)]
        if moved:
            unmade = [one for one in left if isinstance(one, CreateIndexOp) and _is_of(one, first)]
            left = [one for one in left if one not in moved and one not in unmade]
    return left


def _slots(table: Table) -> Iterable[tuple[str, ...]]:
    for column in sealed_columns(table):
        for index in column.type.index:  # type: ignore[attr-defined]
            yield tuple(term_column(column.name, index.name, slot) for slot in SLOTS)
    for declared in declared_compounds(table):
        yield compound_term_columns(declared.name)


def _is_of(operation: CreateIndexOp | DropIndexOp, column: str) -> bool:
    return [one.name for one in operation.to_index().columns] == [column]
