"""Upsert: ON CONFLICT and ON DUPLICATE KEY of an INSERT, with sealed columns in SET and as the target."""

# ruff: noqa: SLF001  # the parts of statements have no public names: sqlalchemy<2.2 is pinned, and tests read each

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from copy import copy
from typing import Any, NoReturn

from sqlalchemy import Column, null
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.dml import Insert
from sqlalchemy.sql.elements import BindParameter, ElementList
from sqlalchemy.sql.selectable import Alias

from vault.definitions.index_slot import SLOTS
from vault.errors import SealedColumnError
from vault.mapping.compiled_modes import mode_in_force
from vault.mapping.compound_index import CompoundColumn
from vault.mapping.sealed_column import SealedColumn
from vault.mapping.statement_values import given_key, plain_value
from vault.mapping.table_plan import TablePlan
from vault.mapping.term_column import as_stored, as_target

__all__ = ["seal_upsert"]

SealedParts = Callable[[SealedColumn, list[Any], list[dict[str, Any]] | None], list[dict[str, Any]]]
CompoundTerms = Callable[[CompoundColumn, list[list[Any]]], dict[str, list[bytes | None]]]


def seal_upsert(
    statement: Insert, plan: TablePlan, sealed_parts: SealedParts, compound_terms: CompoundTerms, dialect: Dialect
) -> Insert:
    """The statement with its conflict clauses sealed. Raises: SealedColumnError for what cannot be."""
    clause = statement._post_values_clause
    changed = statement._generate()
    if isinstance(clause, ElementList):
        several = copy(clause)
        several.clauses = tuple(_sealed(part, plan, sealed_parts, compound_terms, dialect) for part in clause.clauses)
        changed._post_values_clause = several
    else:
        changed._post_values_clause = _sealed(clause, plan, sealed_parts, compound_terms, dialect)
    return changed


def _sealed(
    clause: Any, plan: TablePlan, sealed_parts: SealedParts, compound_terms: CompoundTerms, dialect: Dialect
) -> Any:
    changed = copy(clause)
    match clause.__visit_name__:
        case "on_conflict_do_nothing":
            _seal_target(changed, plan, dialect)
        case "on_conflict_do_update":
            targeted = _seal_target(changed, plan, dialect)
            made = _set_clause(clause.update_values_to_set, plan, targeted, sealed_parts, dialect)
            made |= _compounds(clause.update_values_to_set, plan, compound_terms)
            changed.update_values_to_set = made
        case "on_duplicate_key_update":
            # The row may be another one than meant: of any unique key of the table, also of one not declared here.
            made = _set_clause(clause.update, plan, frozenset(), sealed_parts, dialect, clause.inserted_alias)
            made |= _compounds(clause.update, plan, compound_terms, clause.inserted_alias)
            changed.update = {given_key(key, plan) or key: value for key, value in made.items()}
        case other:
            raise SealedColumnError(
                f"{plan.table.name} has sealed columns: only ON CONFLICT and ON DUPLICATE KEY are known here,"
                f" not {other}"
            )
    return changed


def _seal_target(changed: Any, plan: TablePlan, dialect: Dialect) -> AbstractSet[str | None]:
    """The keys of the columns that the conflict is on."""
    target = [_unique_column(element, plan, dialect) for element in changed.inferred_target_elements or ()]
    if target:
        changed.inferred_target_elements = target
    return {given_key(element, plan) for element in target}


def _unique_column(element: Any, plan: TablePlan, dialect: Dialect) -> Any:
    """A sealed column, or the name of an index over several, as conflict target stands for its unique terms.

    While plaintext is read, for the plaintext: rows that were not written since have no terms.
    """
    for compound in plan.compounds:
        if isinstance(element, str) and element == compound.declared.name:
            if not compound.declared.unique:
                raise SealedColumnError(f"{compound.label} is not unique: declare CompoundIndex(..., unique=True)")
            return compound.term_column("a")
    sealed = plan.sealed.get(given_key(element, plan) or "")
    if sealed is None:
        return element
    if not sealed.type.unique or sealed.asked_index is None:
        raise SealedColumnError(f"{sealed.label} is not unique: declare Sealed(..., index=BlindIndex(), unique=True)")
    term = sealed.term_column(sealed.asked_index, "a")
    if sealed.plaintext is None:
        return term
    return as_target(term) if mode_in_force(dialect, sealed).reads_sealed else sealed.plaintext


def _set_clause(
    given: Any,
    plan: TablePlan,
    targeted: AbstractSet[str | None],
    sealed_parts: SealedParts,
    dialect: Dialect,
    inserted: Any = None,
) -> dict[Any, Any]:
    """SET with sealed values and terms. inserted: the alias that the new row has, where it is not called excluded."""
    made: dict[Any, Any] = {}
    new_row = "excluded" if inserted is None else "inserted"
    for key, value in dict(given).items():
        name = given_key(key, plan)
        if name in plan.bound and not (_is_new(value, plan.bound[name], inserted) and name in targeted):
            raise SealedColumnError(
                f"{plan.table.name}.{name} cannot change in an upsert, sealed values are bound to it"
            )
        if name in plan.filled:
            raise SealedColumnError(f"{plan.table.name}.{name} is filled from its sealed column: set that column")
        sealed = plan.sealed.get(name or "")
        if sealed is None:
            _refuse_sealed_bytes(plan, name, value)
            made[key] = value
        elif _is_new(value, sealed.column, inserted):
            _refuse_other_row(sealed, targeted, inserted)
            made |= _of_new_row(sealed, value.table.c, dialect)
        else:
            _refuse_bound(sealed, new_row, inserted)
            if isinstance(value, BindParameter) and not value.unique:
                raise SealedColumnError(
                    f"{sealed.label} takes a plain value or {new_row}.{name} in an upsert, not a named parameter"
                )
            (part,) = sealed_parts(sealed, [plain_value(value, {}, sealed.label)], None)
            full = {**dict.fromkeys(column.key for column in _places(sealed)), **part}
            columns = plan.table.c
            made |= {columns[k]: BindParameter(None, v, type_=columns[k].type, unique=True) for k, v in full.items()}
    return made


def _places(sealed: SealedColumn) -> "list[Column[Any]]":
    """All columns that a field's values stand in."""
    return [sealed.column, *sealed.term_columns, *([] if sealed.plaintext is None else [sealed.plaintext])]


def _of_new_row(sealed: SealedColumn, new: Any, dialect: Dialect) -> dict[Any, Any]:
    """Each column to that of the new row; NULL, where the mode does not write it, in the new row too."""
    mode = mode_in_force(dialect, sealed)
    return {
        column: as_stored(new[column.key])
        if (mode.writes_plaintext if column is sealed.plaintext else mode.writes_sealed)
        else null()
        for column in _places(sealed)
    }


def _compounds(given: Any, plan: TablePlan, compound_terms: CompoundTerms, inserted: Any = None) -> dict[Any, Any]:
    """The terms of the indexes over several columns that SET changes, all parts of each from one row."""
    values = {given_key(key, plan): value for key, value in dict(given).items()}
    made: dict[Any, Any] = {}
    for compound in plan.compounds:
        columns = [part.column for part in compound.parts]
        parts = [values[column.key] for column in columns if column.key in values]
        if not parts:
            continue
        slots = [compound.term_column(slot) for slot in SLOTS]
        new = [_is_new(values.get(column.key), column, inserted) for column in columns]
        if all(new):
            made |= {slot: as_stored(parts[0].table.c[slot.key]) for slot in slots}
        elif len(parts) == len(columns) and not any(new):
            row = [plain_value(values[column.key], {}, compound.label) for column in columns]
            terms = compound_terms(compound, [row])
            made |= {
                slot: BindParameter(None, terms.get(slot.key, [None])[0], type_=slot.type, unique=True)
                for slot in slots
            }
        else:
            names = ", ".join(column.name for column in columns)
            raise SealedColumnError(
                f"{compound.label} is an index over several columns: an upsert sets all of {names}, each to the new"
                " row's or each to a plain value"
            )
    return made


def _is_new(value: Any, column: "Column[Any]", inserted: Any) -> bool:
    """Whether the value is this column of the row that was to be inserted."""
    if not isinstance(value, Column) or not isinstance(value.table, Alias) or value.key != column.key:
        return False
    return value.table.name == "excluded" if inserted is None else value.table is inserted


def _refuse_sealed_bytes(plan: TablePlan, name: str | None, value: Any) -> None:
    kind = getattr(getattr(value, "type", None), "owner", None)
    if isinstance(value, Column) and isinstance(kind, SealedColumn):
        raise SealedColumnError(f"{kind.label} is sealed and cannot fill {plan.table.name}.{name} in an upsert")


def _refuse_bound(sealed: SealedColumn, new_row: str, inserted: Any) -> None:
    if not sealed.row_columns:
        return
    if inserted is not None:
        _refuse_any_key(sealed)
    raise SealedColumnError(
        f"{sealed.label} is bound to its row: set it to {new_row}.{sealed.column.name} in an upsert"
    )


def _refuse_other_row(sealed: SealedColumn, targeted: AbstractSet[str | None], inserted: Any) -> None:
    """The row that is updated must have the bound values that the new one was sealed with."""
    others = [column.name for column in sealed.row_columns if column.key not in targeted]
    if others and inserted is not None:
        _refuse_any_key(sealed)
    if others:
        raise SealedColumnError(
            f"{sealed.label} is bound to its row by {', '.join(others)}: an upsert needs those as index_elements"
        )


def _refuse_any_key(sealed: SealedColumn) -> NoReturn:
    raise SealedColumnError(
        f"{sealed.label} is bound to its row, and ON DUPLICATE KEY takes the row of any unique key: use an update()"
        " with the bound columns in WHERE, then an insert()"
    )
