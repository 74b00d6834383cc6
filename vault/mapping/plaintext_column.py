"""Plaintext column: the one in which a migrating field was, and in which it is until its last mode.

It stays in the table with its own type, index and constraints, and is hidden as the term columns are: the mapping fills
it, reads it and asks it by the mode in force, and no statement names it.
"""

from typing import Any

from sqlalchemy import JSON, Column
from sqlalchemy.orm import Mapper

from vault.errors import DefinitionError
from vault.mapping.sealed_column import SealedColumn
from vault.mapping.table_plan import plan_of

__all__ = ["add_plaintext", "has_other_plaintext", "is_plaintext", "join_plaintext", "refuse_mapped"]


def add_plaintext(sealed: SealedColumn) -> None:
    """The sealed column has joined a table that is not whole yet: what migrating=Column(...) gave joins it too.

    So that constraints and indexes among the table's arguments can name it.
    """
    given = sealed.type.plaintext
    if given is not None and _there(sealed) is None:
        sealed.table.append_column(_hidden(sealed, given._copy()))  # noqa: SLF001  # as to_metadata() copies it


def join_plaintext(sealed: SealedColumn) -> None:
    """The table has its columns: find the plaintext column among them, or make it. Raises: DefinitionError."""
    name = sealed.type.migrating
    if name is None:
        return
    if not sealed.column.nullable:  # of two columns one is NULL at some time: the mapping refuses NULL instead
        sealed.type.required = True
        sealed.column.nullable = True
    there = _there(sealed)
    if there is None:
        given = sealed.type.plaintext
        made: Column[Any] = Column(name, sealed.type.stored) if given is None else given._copy()  # noqa: SLF001
        sealed.table.append_column(_hidden(sealed, made))
    else:
        _hidden(sealed, there)
    check_plaintext(sealed)


def has_other_plaintext(sealed: SealedColumn, column: "Column[Any]") -> bool:
    """Whether column has taken the place of the plaintext column that the field knew, as where a table is reflected."""
    known = vars(sealed).get("plaintext")  # none, while the table is being made
    return known is not None and known is not column and known.name == column.name


def is_plaintext(column: Any) -> bool:
    """Whether it is the plaintext column of a migrating field; of an alias or subquery, whether it comes from one."""
    for origin in column.base_columns:
        plan = plan_of(origin.table) if isinstance(origin, Column) else None
        if plan is not None and origin.key in plan.plaintexts:
            return True
    return False


def check_plaintext(sealed: SealedColumn) -> None:
    """Refuse a plaintext column that two columns cannot share their values with. Raises: DefinitionError."""
    column = sealed.plaintext
    if column is None or column is sealed.column:
        raise DefinitionError(f"{sealed.label}: migrating= names another column, which holds the plaintext")
    place = f"{sealed.label}: the plaintext column {column.name}"
    if column.primary_key or column.foreign_keys:
        raise DefinitionError(f"{place} is no primary or foreign key: a sealed column is none; key by another column")
    if column.server_default is not None or column.computed is not None or column.identity is not None:
        raise DefinitionError(
            f"{place} has a value that the server makes, which would have no sealed one beside it: drop that, and give"
            f" default= to {sealed.column.name}"
        )
    if column.default is not None or column.onupdate is not None:
        raise DefinitionError(f"{place} is filled from {sealed.column.name}: give that one the default")
    if isinstance(column.type, JSON) and not column.type.none_as_null:
        raise DefinitionError(f"{place} must be JSON(none_as_null=True): None is SQL NULL in a sealed JSON column")


def refuse_mapped(mapper: Mapper[Any], _class: type[Any]) -> None:
    """Raises: DefinitionError for an attribute that stands for the plaintext column: there is one for both."""
    for attribute in mapper.column_attrs:
        for column in attribute.columns:
            if is_plaintext(column):
                raise DefinitionError(
                    f"{column} is mapped as {attribute.key}, and holds the plaintext of a field that is migrating:"
                    " leave the attribute out, and give the column as migrating=Column(...)"
                )


def _there(sealed: SealedColumn) -> "Column[Any] | None":
    return next((column for column in sealed.table.columns if column.name == sealed.type.migrating), None)


def _hidden(sealed: SealedColumn, column: "Column[Any]") -> "Column[Any]":
    if column not in set(sealed.table.columns) and column.key in sealed.table.columns:
        column.key = f"{column.name}__plaintext"  # as where the sealed column has key="ssn"
    column._omit_from_statements = True  # noqa: SLF001  # an option of Column() that has no public name
    return column
