"""Sealing values: those of one column in one statement, by the field of the engine's vault or of each row's tenant."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.engine import Dialect

from vault.field import Field
from vault.mapping.attached import field_for
from vault.mapping.attached_tenants import tenant_name
from vault.mapping.sealed_column import SealedColumn
from vault.mapping.statement_plan import StatementPlan

__all__ = ["sealed_values"]

Row = Mapping[str, Any]
Columns = dict[str, list[bytes | None]]


def sealed_values(
    dialect: Dialect,
    plan: StatementPlan,
    sealed: SealedColumn,
    values: list[Any],
    rows: Sequence[Row] | None,
    *,
    inserting: bool,
) -> Columns:
    """By column key the sealed bytes, and the terms, of all values in order.

    rows: the row columns of each value by name, where the field has such. inserting: slots that are not written, by
    the statement's plan, are left out; an UPDATE sets them NULL, as nothing stale may stay.
    Raises: InvalidValueError, TenantError, KmsError; SealedColumnError where no vault is attached.
    """
    if sealed.tenant is None:
        return _by_field(field_for(dialect, sealed), plan, sealed, values, rows, inserting=inserting)
    tenant, rows = sealed.tenant.name, rows or ()
    places: dict[Any, list[int]] = {}
    for place, value in enumerate(values):
        if value is not None:
            places.setdefault(rows[place][tenant], []).append(place)
    nulled = [] if inserting else sealed.term_columns
    columns: Columns = {column.key: [None] * len(values) for column in (sealed.column, *nulled)}
    for named, its in places.items():
        field = field_for(dialect, sealed, tenant_name(named))
        its_values, its_rows = [values[place] for place in its], [rows[place] for place in its]
        for key, parts in _by_field(field, plan, sealed, its_values, its_rows, inserting=inserting).items():
            columns.setdefault(key, [None] * len(values))
            for place, part in zip(its, parts, strict=True):
                columns[key][place] = part
    return columns


def _by_field(
    field: Field,
    plan: StatementPlan,
    sealed: SealedColumn,
    values: list[Any],
    rows: Sequence[Row] | None,
    *,
    inserting: bool,
) -> Columns:
    of_field = plan.of(field)
    terms: Mapping[str, list[bytes | None]]
    if len(values) == 1:
        stored = [field.seal(values[0], None if rows is None else rows[0])]
        terms = {column: [term] for column, term in field.terms(values[0], of_field).items()}
    else:
        stored = field.seal_many(values, rows)
        terms = field.terms_by_column(values, of_field)
    keys = [column.key for column in sealed.term_columns]
    columns = {sealed.column.key: stored, **dict(zip(keys, terms.values(), strict=True))}
    if inserting:
        for column, key in zip(terms, keys, strict=True):
            if column not in of_field.written:
                del columns[key]
    return columns
