"""Table plan: what a write to one table has to seal, found once a table."""

# ruff: noqa: SLF001  # the parts of statements have no public names: sqlalchemy<2.2 is pinned, and tests read each

from dataclasses import dataclass, field
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from sqlalchemy import Column, Table
from sqlalchemy.engine import Dialect

from vault.definitions.index_slot import Slot
from vault.mapping.attached import asking_for, compound_for
from vault.mapping.compound_index import CompoundColumn, compounds_of
from vault.mapping.definitions import all_term_columns
from vault.mapping.sealed_column import Declaration, SealedColumn
from vault.mapping.statement_plan import StatementPlan
from vault.terms.term import BlindIndex

__all__ = ["AskedPlace", "TablePlan", "forget_plan", "plan_of"]


class AskedPlace(Protocol):
    """An index, of a column or over several, whose term column stands in a statement."""

    def term_column(self, slot: Slot) -> "Column[Any]": ...

    def asked(self, plan: StatementPlan, dialect: Dialect) -> Slot:
        """The slot that is asked by a statement's plan. Raises: SealedColumnError, TenantError, KmsError."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class _OfColumn:
    sealed: SealedColumn
    index: BlindIndex

    def term_column(self, slot: Slot) -> "Column[Any]":
        return self.sealed.term_column(self.index, slot)

    def asked(self, plan: StatementPlan, dialect: Dialect) -> Slot:
        found = plan.found.get((self.sealed, self.index.name))
        if found is None:
            found = plan.asked_terms(asking_for(dialect, self.sealed, self.index.keyring), self.index)
        return found[0]


@dataclass(frozen=True, slots=True, eq=False)
class _OfSeveral:
    compound: CompoundColumn

    def term_column(self, slot: Slot) -> "Column[Any]":
        return self.compound.term_column(slot)

    def asked(self, plan: StatementPlan, dialect: Dialect) -> Slot:
        return plan.asked_together(compound_for(dialect, self.compound))


@dataclass(frozen=True, slots=True, weakref_slot=True)
class TablePlan:
    """sealed: by column key. bound: the columns that some field is bound to, by key. defaults: those that a
    Python default fills before a value is sealed. filled: the keys of the columns that a sealed one fills, with its
    terms, or with its plaintext. compounds: indexes over several columns. asked: by the key of its term column of slot
    a, each index. plaintexts: the keys of plaintext columns. walks: kept here for walk_of() of walk.py.
    """

    table: Table
    sealed: dict[str, SealedColumn]
    bound: "dict[str, Column[Any]]"
    defaults: "tuple[Column[Any], ...]"
    filled: frozenset[str]
    compounds: tuple[CompoundColumn, ...] = ()
    asked: dict[str, AskedPlace] = field(default_factory=dict)
    plaintexts: frozenset[str] = frozenset()
    walks: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)


_plans: "WeakKeyDictionary[Table, TablePlan | None]" = WeakKeyDictionary()


def plan_of(table: Any) -> TablePlan | None:
    """The plan of a table, or of the ORM's annotated copy of it; None where nothing is sealed."""
    try:
        return _plans[table]
    except KeyError:
        return _make_plan(table)
    except TypeError:  # not a thing that can be weakly referenced, so not a table
        return None


def forget_plan(table: Table) -> None:
    """The table has a new column."""
    _plans.pop(table, None)


def _make_plan(table: Any) -> TablePlan | None:
    if not isinstance(table, Table):
        return None
    table = table._deannotate()
    sealed = {
        column.key: column.type.owner
        for column in table.c
        if isinstance(column.type, Declaration) and column.type.owner is not None
    }
    plan = None
    if sealed:
        bound = {column.key: column for one in sealed.values() for column in one.row_columns}
        compounds = compounds_of(table)
        plaintexts = frozenset(one.plaintext.key for one in sealed.values() if one.plaintext is not None)
        wanted = {**{key: one.column for key, one in sealed.items()}, **bound}
        plan = TablePlan(
            table,
            sealed,
            bound,
            tuple(column for column in wanted.values() if column.default is not None),
            frozenset(column.key for column in all_term_columns(table)) | plaintexts,
            compounds,
            {
                **{
                    one.term_column(index, "a").key: _OfColumn(one, index)
                    for one in sealed.values()
                    for index in one.type.index
                },
                **{one.term_column("a").key: _OfSeveral(one) for one in compounds},
            },
            plaintexts,
        )
    _plans[table] = plan
    return plan
