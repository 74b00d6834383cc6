"""Siblings: the hidden columns beside a sealed one, two slots of terms for each of its indexes.

SQLAlchemy leaves them out of SELECTs and mappers unless they are named.
"""

from typing import Any
from weakref import WeakSet

from sqlalchemy import Column, Index, MetaData, Table, UniqueConstraint

from vault.errors import DefinitionError
from vault.index_slot import SLOTS, term_column
from vault.mapping.compound_index import CompoundIndex, complete_compound, declared_compounds
from vault.mapping.sealed_column import Declaration, SealedColumn
from vault.mapping.table_plan import forget_plan
from vault.mapping.term_type import Term

__all__ = ["begin_table", "complete_table", "own_column", "own_compound", "refuse_own_index"]

_incomplete: "WeakSet[Table]" = WeakSet()


def begin_table(table: Table, _metadata: MetaData) -> None:
    """A table is about to get its first columns: siblings must wait, or a copied table would have them twice."""
    _incomplete.add(table)


def complete_table(table: Table, _metadata: MetaData) -> None:
    """A table has its columns. Raises: DefinitionError."""
    _incomplete.discard(table)
    for column in list(table.columns):
        if isinstance(column.type, Declaration):
            _complete_column(column)
    for declared in declared_compounds(table):
        complete_compound(table, declared)


def own_column(column: "Column[Any]", table: Table) -> None:
    """A column has joined a table: its type learns which field it is."""
    forget_plan(table)
    if not isinstance(column.type, Declaration):
        return
    if column.type.owner is not None and column.type.owner.column is not column:
        column.type = column.type.copy()
    column.type.owner = SealedColumn(column)
    if table not in _incomplete:
        _complete_column(column)


def refuse_own_index(index: "Index | UniqueConstraint", table: Table) -> None:
    """No two sealed values are alike, so what holds them unique holds nothing. Raises: DefinitionError."""
    for column in index.columns:
        if isinstance(column.type, Declaration):
            raise DefinitionError(
                f"{table.name}.{column.name}: sealed bytes never repeat; declare Sealed(..., index=BlindIndex(),"
                " unique=True) instead, or after the table an Index of term_columns(column)[0]"
            )


def own_compound(declared: CompoundIndex, table: Table) -> None:
    """An index over several columns has joined a table."""
    forget_plan(table)
    if table not in _incomplete:
        complete_compound(table, declared)


def _complete_column(column: "Column[Any]") -> None:
    sealed = column.type.owner  # type: ignore[attr-defined]
    for index in sealed.type.index:
        for slot in SLOTS:
            name = term_column(column.name, index.name, slot)
            kind = Term(index.term_bytes, sealed.joins(index), index.answers_equality)
            there = column.table.c.get(name)
            if there is None:
                sibling: Column[Any] = Column(
                    name,
                    kind,
                    index=slot == "a" or None,
                    unique=(slot == "a" and sealed.type.unique and index is sealed.asked_index) or None,
                    _omit_from_statements=True,
                )
                column.table.append_column(sibling)
            elif not isinstance(there.type, Term):
                raise DefinitionError(
                    f"{sealed.label} needs the name {name} for its index: rename that column or the index"
                )
            else:  # copied with its table, which may have another name now
                there.type = kind
    sealed.check()
