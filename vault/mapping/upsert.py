"""Upsert: ON CONFLICT of an INSERT, with sealed columns in SET and as the target."""

# ruff: noqa: SLF001  # the parts of statements have no public names: sqlalchemy<2.2 is pinned, and tests read each

from collections.abc import Callable
from copy import copy
from typing import Any

from sqlalchemy import Column
from sqlalchemy.sql.dml import Insert
from sqlalchemy.sql.elements import BindParameter, ElementList
from sqlalchemy.sql.selectable import Alias

from vault.errors import SealedColumnError
from vault.mapping.sealed_column import SealedColumn
from vault.mapping.statement_values import given_key, plain_value
from vault.mapping.table_plan import TablePlan

__all__ = ["seal_upsert"]

SealedParts = Callable[[SealedColumn, list[Any], list[dict[str, Any]] | None], list[dict[str, Any]]]


def seal_upsert(statement: Insert, plan: TablePlan, sealed_parts: SealedParts) -> Insert:
    """The statement with its conflict clauses sealed. Raises: SealedColumnError for what cannot be."""
    clause = statement._post_values_clause
    changed = statement._generate()
    if isinstance(clause, ElementList):
        several = copy(clause)
        several.clauses = tuple(_sealed(part, plan, sealed_parts) for part in clause.clauses)
        changed._post_values_clause = several
    else:
        changed._post_values_clause = _sealed(clause, plan, sealed_parts)
    return changed


def _sealed(clause: Any, plan: TablePlan, sealed_parts: SealedParts) -> Any:
    if clause.__visit_name__ not in {"on_conflict_do_nothing", "on_conflict_do_update"}:
        raise SealedColumnError(
            f"{plan.table.name} has sealed columns: only ON CONFLICT is known here, not {clause.__visit_name__}"
        )
    changed = copy(clause)
    target = [_unique_column(element, plan) for element in clause.inferred_target_elements or ()]
    if target:
        changed.inferred_target_elements = target
    if clause.__visit_name__ == "on_conflict_do_update":
        targeted = {given_key(element, plan) for element in target}
        changed.update_values_to_set = _set_clause(clause.update_values_to_set, plan, targeted, sealed_parts)
    return changed


def _unique_column(element: Any, plan: TablePlan) -> Any:
    """A sealed column as conflict target stands for its unique terms."""
    sealed = plan.sealed.get(given_key(element, plan) or "")
    if sealed is None:
        return element
    if not sealed.type.unique or sealed.asked_index is None:
        raise SealedColumnError(f"{sealed.label} is not unique: declare Sealed(..., index=BlindIndex(), unique=True)")
    return sealed.term_column(sealed.asked_index, "a")


def _set_clause(given: Any, plan: TablePlan, targeted: set[str | None], sealed_parts: SealedParts) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    for key, value in dict(given).items():
        name = given_key(key, plan)
        if name in plan.bound and not (_is_excluded(value, plan.bound[name]) and name in targeted):
            raise SealedColumnError(
                f"{plan.table.name}.{name} cannot change in an upsert, sealed values are bound to it"
            )
        if name in plan.terms:
            raise SealedColumnError(f"{plan.table.name}.{name} is filled from its sealed column: set that column")
        sealed = plan.sealed.get(name or "")
        if sealed is None:
            made[key] = value
        elif _is_excluded(value, sealed.column):
            _refuse_other_row(sealed, targeted)
            made[sealed.column] = value
            made.update({column: value.table.c[column.key] for column in sealed.term_columns})
        else:
            if sealed.bound:
                raise SealedColumnError(f"{sealed.label} is bound to its row: set it to excluded.{name} in an upsert")
            if isinstance(value, BindParameter) and not value.unique:
                raise SealedColumnError(
                    f"{sealed.label} takes a plain value or excluded.{name} in an upsert, not a named parameter"
                )
            (part,) = sealed_parts(sealed, [plain_value(value, {}, sealed.label)], None)
            full = {**dict.fromkeys(column.key for column in sealed.term_columns), **part}
            columns = plan.table.c
            made |= {columns[k]: BindParameter(None, v, type_=columns[k].type, unique=True) for k, v in full.items()}
    return made


def _is_excluded(value: Any, column: "Column[Any]") -> bool:
    return (
        isinstance(value, Column)
        and isinstance(value.table, Alias)
        and value.table.name == "excluded"
        and value.key == column.key
    )


def _refuse_other_row(sealed: SealedColumn, targeted: set[str | None]) -> None:
    """The row that is updated must have the bound values that the new one was sealed with."""
    others = [column.name for column in sealed.bound if column.key not in targeted]
    if others:
        raise SealedColumnError(
            f"{sealed.label} is bound to its row by {', '.join(others)}: an upsert needs those as index_elements"
        )
