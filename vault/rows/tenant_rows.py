"""Tenant rows: of a table whose rows name their tenants, those that belong to one keyring, for what works with one."""

from typing import Any
from uuid import UUID

from sqlalchemy import Column, ColumnElement, Integer, Table, Uuid, false

from vault.errors import PolicyError
from vault.mapping.definitions import sealed_columns

__all__ = ["require_no_tenants", "rows_of", "tenant_column"]


def tenant_column(table: Table) -> "Column[Any] | None":
    """The column by which sealed ones name their tenant; None where none does.

    Raises: PolicyError where there are several: no row is then one tenant's.
    """
    owners = [column.type.owner for column in sealed_columns(table)]  # type: ignore[attr-defined]
    named = {owner.tenant.name: owner.tenant for owner in owners if owner.tenant is not None}
    if len(named) > 1:
        raise PolicyError(
            f"table {table.fullname} names tenants by several columns ({', '.join(named)}): commands read tables of one"
        )
    return next(iter(named.values()), None)


def rows_of(table: Table, stored: Table, keyring: str) -> "ColumnElement[bool] | None":
    """The condition that a row is of the tenant whose keyring is called so; None for a table whose rows name none.

    stored: the table as the database has it, which the condition is on.
    """
    column = tenant_column(table)
    if column is None:
        return None
    try:
        match column.type:
            case Integer():
                value: object = int(keyring)
            case Uuid():
                value = UUID(keyring)
            case _:
                value = keyring
    except ValueError:  # no row names it
        return false()
    return false() if str(value) != keyring else stored.c[column.name] == value


def require_no_tenants(table: Table) -> None:
    """Raises: PolicyError for a table whose rows name their tenants: one keyring neither writes nor shows them."""
    column = tenant_column(table)
    if column is not None:
        raise PolicyError(
            f"the rows of {table.fullname} name their tenants ({column.name}), and commands have one keyring: read and"
            " write them in a program with open_tenants(), as docs/tenants.md shows"
        )
