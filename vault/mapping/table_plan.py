"""Table plan: what a write to one table has to seal, found once a table."""

# ruff: noqa: SLF001  # the parts of statements have no public names: sqlalchemy<2.2 is pinned, and tests read each

from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Column, Table

from vault.mapping.compound_index import CompoundColumn, compounds_of
from vault.mapping.definitions import all_term_columns
from vault.mapping.sealed_column import Declaration, SealedColumn

__all__ = ["TablePlan", "forget_plan", "plan_of"]


@dataclass(frozen=True, slots=True, weakref_slot=True)
class TablePlan:
    """sealed: by column key. bound: the columns that some field is bound to, by key. defaults: those that a
    Python default fills before a value is sealed. terms: the keys of all term columns. compounds: indexes over several
    columns. walks: kept here for walk_of() of walk.py.
    """

    table: Table
    sealed: dict[str, SealedColumn]
    bound: "dict[str, Column[Any]]"
    defaults: "tuple[Column[Any], ...]"
    terms: frozenset[str]
    compounds: tuple[CompoundColumn, ...] = ()
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
        filled = {**{key: one.column for key, one in sealed.items()}, **bound}
        plan = TablePlan(
            table,
            sealed,
            bound,
            tuple(column for column in filled.values() if column.default is not None),
            frozenset(column.key for column in all_term_columns(table)),
            compounds_of(table),
        )
    _plans[table] = plan
    return plan
