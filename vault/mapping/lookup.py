"""Look-up: one thing that find() and find_all() ask for: the index, its term, and which opened values are meant."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, ColumnElement, Table
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import operators
from sqlalchemy.sql.elements import BindParameter, ClauseElement

from vault.errors import FieldError, SealedColumnError
from vault.index.slot_terms import declared_matcher
from vault.mapping.ask_by_mode import AskByMode
from vault.mapping.asked import Asked
from vault.mapping.attached import asking_for, compound_for
from vault.mapping.compiled_modes import mode_in_force
from vault.mapping.compound_index import CompoundColumn
from vault.mapping.compound_term_type import asked_compound_type
from vault.mapping.sealed_column import SealedColumn
from vault.mapping.statement_plan import StatementPlan
from vault.mapping.table_plan import plan_of
from vault.mapping.term_type import asked_type
from vault.terms.term import BlindIndex

__all__ = ["Lookup", "Via", "lookups", "via"]

Matches = Callable[[tuple[Any, ...]], bool]
MakesMatcher = Callable[[object], Callable[[object], bool]]


@dataclass(frozen=True, slots=True, repr=False)
class Via:
    """A value to ask a certain index of a field for. It shows neither in a repr nor in a log."""

    index: str
    asked: Asked

    def __repr__(self) -> str:
        return f"via({self.index!r}, <asked value>)"


def via(index: str, asked: object) -> Via:
    """Ask the field's index of that name; of a partial one for a part: via("last4", "6789")."""
    return Via(index, Asked(asked))


@dataclass(frozen=True, slots=True, repr=False)
class Lookup:
    """columns: the sealed columns whose opened values are compared. through: which index is asked.

    term: the condition on its term column, or on the plaintext, of which what is asked is the parameter of a name.
    exact: whether all rows that have the term have the value. matcher: gives for a statement's plan whether opened
    values are meant, as the slot that it asks compares them.
    """

    columns: "tuple[Column[Any], ...]"
    through: Hashable
    term: Callable[[str], ColumnElement[bool]]
    asked: Asked
    exact: bool
    matcher: Callable[[Dialect, StatementPlan], Matches]


def lookups(tables: Sequence[Table], by: Mapping[Any, Any]) -> list[Lookup]:
    """What is asked of the tables that rows are of: by sealed columns, or by the name of an index over several.

    Raises: SealedColumnError, DefinitionError for an index that there is not.
    """
    if not by:
        raise SealedColumnError("find() and find_all() need by={column: value}: of what is plain, select() as usual")
    return [_lookup(tables, key, asked) for key, asked in by.items()]


def _lookup(tables: Sequence[Table], key: Any, asked: Any) -> Lookup:
    plans = [plan for table in tables if (plan := plan_of(table)) is not None]
    column = _column(key)
    for plan in plans:
        for compound in plan.compounds:
            if isinstance(key, str) and compound.declared.name == key:
                return _of_compound(compound, asked)
        for name, sealed in plan.sealed.items():
            if key == name if isinstance(key, str) else hash(sealed.column) == hash(column):
                return _of_column(sealed, asked)
    name = key if isinstance(key, str) else getattr(key, "key", type(key).__name__)
    raise SealedColumnError(
        f"by= names {name!r}, which is no sealed column and no index over several of {tables[0].name}: plain columns"
        " are conditions beside it"
    )


def _column(key: Any) -> Any:
    clause = key.__clause_element__() if hasattr(key, "__clause_element__") else key
    return clause if isinstance(clause, Column) else None


def _of_column(sealed: SealedColumn, asked: Any) -> Lookup:
    if isinstance(asked, Via):
        index, value = sealed.index_named(asked.index), asked.asked.value
    else:
        index, value = _best(sealed), asked
    if value is None or isinstance(value, ClauseElement) or hasattr(value, "__clause_element__"):
        raise SealedColumnError(f"{sealed.label} is asked for a plain value; what is NULL is found by is_(None)")

    def term(name: str) -> ColumnElement[bool]:
        column, kind = sealed.term_column(index, "a"), asked_type(sealed, index)
        parameter: BindParameter[Any] = BindParameter(name, type_=kind)
        if sealed.plaintext is not None:
            return AskByMode(sealed.column, column, operators.eq, parameter, kind)
        return column == parameter

    def matcher(dialect: Dialect, plan: StatementPlan) -> Matches:
        try:
            matches = _matcher_of(dialect, plan, sealed, index)(sealed.asked_value(index.name, value))
        except FieldError as error:
            error.at(sealed.definition.table, sealed.definition.column)
            raise
        convert = sealed.given
        return lambda opened: opened[0] is not None and matches(opened[0] if convert is None else convert(opened[0]))

    return Lookup((sealed.column,), (sealed, index.name), term, Asked(value), index.answers_equality, matcher)


def _matcher_of(dialect: Dialect, plan: StatementPlan, sealed: SealedColumn, index: BlindIndex) -> MakesMatcher:
    """As the slot that is asked compares; while plaintext is read no slot is, and there need be none: as declared."""
    if not mode_in_force(dialect, sealed).reads_sealed:
        return declared_matcher(sealed.definition, index)
    return plan.asked_terms(asking_for(dialect, sealed, index.keyring), index)[1].matcher


def _best(sealed: SealedColumn) -> BlindIndex:
    """The index that answers ==, or else that of whole values with the most bits."""
    whole = [index for index in sealed.type.index if not index.normaliser.partial]
    if sealed.asked_index is not None:
        return sealed.asked_index
    if not whole:
        what = "only partial indexes: name one by via(index, part)" if sealed.type.index else "no index to ask"
        raise SealedColumnError(f"{sealed.label} has {what}")
    return max(whole, key=lambda index: index.bits)


def _of_compound(compound: CompoundColumn, asked: Any) -> Lookup:
    values = compound_values(compound, asked)

    def term(name: str) -> ColumnElement[bool]:
        return compound.term_column("a") == BindParameter(name, type_=asked_compound_type(compound))

    def matcher(dialect: Dialect, plan: StatementPlan) -> Matches:
        terms = compound_for(dialect, compound)
        matches = terms.matcher(compound.asked_values(values), plan.of_compound(terms))
        return lambda opened: matches(compound.handed_over(opened))

    columns = tuple(part.column for part in compound.parts)
    return Lookup(columns, compound, term, Asked(values), compound.definition.answers_equality, matcher)


def compound_values(compound: CompoundColumn, asked: Any) -> tuple[Any, ...]:
    """What is asked for, in the order of the parts. Raises: SealedColumnError unless there is a value for each."""
    keys = [part.column.key for part in compound.parts]
    if not isinstance(asked, Mapping) or set(asked) != set(keys) or any(asked[key] is None for key in keys):
        raise SealedColumnError(f"{compound.label} is asked for a value of each of its columns, {', '.join(keys)}")
    return tuple(asked[key] for key in keys)
