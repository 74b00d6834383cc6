"""Siblings: the hidden columns beside a sealed one, two slots of terms for each of its indexes.

SQLAlchemy leaves them out of SELECTs and mappers unless they are named. Of a migrating field, the plaintext column too.
"""

# ruff: noqa: SLF001  # that a column is hidden has no public name: sqlalchemy<2.2 is pinned, and tests read it

from typing import Any, Final
from weakref import WeakSet

from sqlalchemy import Column, Index, MetaData, Table, UniqueConstraint

from vault.definitions.index_slot import SLOTS, term_column
from vault.errors import DefinitionError
from vault.mapping.compound_index import CompoundIndex, complete_compound, declared_compounds
from vault.mapping.plaintext_column import add_plaintext, has_other_plaintext, join_plaintext
from vault.mapping.reflected import is_read_terms
from vault.mapping.sealed_column import Declaration, SealedColumn
from vault.mapping.table_plan import forget_plan
from vault.mapping.term_column import TermColumn, as_term_column
from vault.mapping.term_type import Term

__all__ = [
    "begin_table",
    "complete_table",
    "keep_sealed",
    "own_column",
    "own_compound",
    "refuse_own_index",
]

KEPT: Final = "leave it out of what is declared again; with autoload_with= say autoload_replace=False too"
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


def keep_sealed(column: "Column[Any]", table: Table) -> None:
    """A column is about to join a table, perhaps in the place of another, as by extend_existing=True.

    Raises: DefinitionError where that is sealed, or has terms, and the new one does not do the same.
    """
    there = table.c.get(column.key) if isinstance(table, Table) and column.key is not None else None
    if there is None or there is column:
        return
    was, is_ = there.type, column.type
    if isinstance(was, Term) and not isinstance(is_, Term):
        raise DefinitionError(f"{table.name}.{there.name} holds the terms of an index: {KEPT}")
    if not isinstance(was, Declaration):
        return
    if not isinstance(is_, Declaration):
        raise DefinitionError(f"{table.name}.{there.name} is sealed, and would become plain: {KEPT}")
    if was.migrating != is_.migrating:
        raise DefinitionError(
            f"{table.name}.{there.name} is declared again with another migrating=: declare the table once, or in a"
            " MetaData of its own"
        )
    if was.unique != is_.unique or [index.name for index in was.index] != [index.name for index in is_.index]:
        raise DefinitionError(
            f"{table.name}.{there.name} is declared again with other indexes, and has term columns of those it had:"
            " declare the table once, or in a MetaData of its own"
        )


def own_column(column: "Column[Any]", table: Table) -> None:
    """A column has joined a table: its type learns which field it is."""
    forget_plan(table)
    _bind_anew(column, table)
    if not isinstance(column.type, Declaration):
        return
    copied = column.type.owner is not None and column.type.owner.column is not column
    if copied:
        column.type = column.type.copy()
    column.type.owner = SealedColumn(column)
    if not copied:  # with the table that it is copied from, its plaintext column comes too
        add_plaintext(column.type.owner)
    if table not in _incomplete:
        _complete_column(column)


def _bind_anew(column: "Column[Any]", table: Table) -> None:
    """Fields that are bound to a column of this name, or have their plaintext in it, know this one from now on.

    Raises: DefinitionError.
    """
    if table in _incomplete:
        return
    for other in table.columns:
        kind = other.type
        if not isinstance(kind, Declaration) or kind.owner is None:
            continue
        moved = has_other_plaintext(kind.owner, column)
        if moved or column.key in {*kind.bind, kind.tenant}:
            kind.owner = SealedColumn(other)
            if moved:
                join_plaintext(kind.owner)
            kind.owner.check()


def refuse_own_index(index: "Index | UniqueConstraint", table: Table) -> None:
    """No two sealed values are alike, so what holds them unique holds nothing; unequal ones may share a term.

    Raises: DefinitionError.
    """
    unique = not isinstance(index, Index) or index.unique
    for column in index.columns:
        if unique and isinstance(column.type, Term) and not column.type.exact:
            raise DefinitionError(
                f"{table.name}.{column.name} holds the terms of a truncated or partial index, which unequal values"
                " share: unique are the terms of a full-length one"
            )
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
    join_plaintext(sealed)
    for index in sealed.type.index:
        for slot in SLOTS:
            name = term_column(column.name, index.name, slot)
            kind = Term(index.term_bytes, sealed.joins(index), index.answers_equality)
            kind.owner = sealed
            there = column.table.c.get(name)
            if there is None:
                sibling: Column[Any] = (TermColumn if slot == "a" else Column)(
                    name,
                    kind,
                    index=slot == "a" or None,
                    unique=(slot == "a" and sealed.type.unique and index is sealed.asked_index) or None,
                    _omit_from_statements=True,
                )
                column.table.append_column(sibling)
            elif not isinstance(there.type, Term) and not is_read_terms(there):
                raise DefinitionError(
                    f"{sealed.label} needs the name {name} for its index: rename that column or the index"
                )
            else:  # copied with its table, which may have another name now; or read from the database
                if slot == "a" and not isinstance(there, TermColumn):
                    there = as_term_column(there)
                there.type = kind
                there._omit_from_statements = True
    sealed.check()
