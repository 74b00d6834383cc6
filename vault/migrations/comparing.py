"""Comparing: whether a sealed or term column is in the database as the model declares it."""

from typing import TYPE_CHECKING, Any, Final

from alembic.util import PriorityDispatchResult
from sqlalchemy import Column
from sqlalchemy.types import _Binary

from vault.errors import DefinitionError
from vault.mapping.sealed_column import Declaration
from vault.migrations.stored_columns import stored_type

if TYPE_CHECKING:
    from alembic.autogenerate.api import AutogenContext
    from alembic.operations.ops import AlterColumnOp

__all__ = ["compare_type"]

OPENED: Final = (
    "{} is plain in the model and sealed in the database, with terms beside it: a column never holds both plain and"
    " sealed values; declare a new plain column, copy the values, then drop the sealed one"
)
PLAIN: Final = (
    "{} is sealed in the model and not in the database: a column never holds both plain and sealed values; declare a"
    " new sealed column beside it and move the values: Sealed(..., migrating=), docs/migrating.md"
)


def compare_type(
    context: "AutogenContext",
    operation: "AlterColumnOp",
    schema: str | None,
    table: str,
    name: str,
    found: "Column[Any]",
    declared: "Column[Any]",
) -> PriorityDispatchResult:
    """Alembic's comparison of a column's types, for ours; others are left to the next.

    Raises: DefinitionError for a plain column that the model seals, and for a sealed one that it does not.
    """
    wanted = stored_type(declared.type)
    if wanted is None or context.dialect is None:
        if not isinstance(declared.type, _Binary) and _has_terms(found):
            raise DefinitionError(OPENED.format(".".join(filter(None, (schema, table, name)))))
        return PriorityDispatchResult.CONTINUE
    operation.existing_type = wanted
    if not isinstance(found.type, _Binary):
        if isinstance(declared.type, Declaration):
            raise DefinitionError(PLAIN.format(".".join(filter(None, (schema, table, name)))))
        operation.existing_type, operation.modify_type = found.type, wanted
    elif found.type.compile(context.dialect) != wanted.compile(context.dialect):  # MariaDB alone has lengths
        operation.existing_type, operation.modify_type = found.type, wanted
    return PriorityDispatchResult.STOP


def _has_terms(found: "Column[Any]") -> bool:
    """Whether a column of the database is bytes and has columns of terms beside it: what a sealed one looks like."""
    beside = {column.name for column in found.table.c if isinstance(column.type, _Binary)}
    if found.name not in beside:
        return False
    stems = {name[:-2] for name in beside if name.startswith(f"{found.name}_") and name.endswith("_a")}
    return any(f"{stem}_b" in beside for stem in stems)
