"""Sealed column operations: op.add_sealed_column and op.drop_sealed_column, of a migration or of its batch."""

from typing import Any, Self

from alembic.operations import BatchOperations, Operations
from alembic.operations.ops import AddColumnOp, AlterTableOp, DropColumnOp
from sqlalchemy import Column

from vault.migrations.refusal_triggers import drop_refusals
from vault.migrations.stored_columns import sealed_type

__all__ = ["AddSealedColumnOp", "DropSealedColumnOp"]


class _SealedColumnOp(AlterTableOp):
    """longest_bytes: of a stored value, where MariaDB limits it; None where it does not."""

    def __init__(
        self, table_name: str, column_name: str, *, longest_bytes: int | None = None, schema: str | None = None
    ) -> None:
        super().__init__(table_name, schema=schema)
        self.column_name = column_name
        self.longest_bytes = longest_bytes

    @classmethod
    def of(cls, other: "_SealedColumnOp") -> Self:
        """The operation on the same column."""
        return cls(other.table_name, other.column_name, longest_bytes=other.longest_bytes, schema=other.schema)


@Operations.register_operation("add_sealed_column")
@BatchOperations.register_operation("add_sealed_column", "batch_add_sealed_column")
class AddSealedColumnOp(_SealedColumnOp):
    """The column is NULL in the rows that there are, and so may be NULL: no default of a database is sealed.

    not_null: the model forbids NULL, which a later revision can say when every row has its value.
    """

    not_null = False

    @classmethod
    def add_sealed_column(
        cls,
        operations: Operations,
        table_name: str,
        column_name: str,
        *,
        longest_bytes: int | None = None,
        schema: str | None = None,
    ) -> None:
        """Add a sealed column, NULL in every row; longest_bytes is MariaDB's limit, None for values of any length."""
        operations.invoke(cls(table_name, column_name, longest_bytes=longest_bytes, schema=schema))

    @classmethod
    def batch_add_sealed_column(
        cls, operations: BatchOperations, column_name: str, *, longest_bytes: int | None = None
    ) -> None:
        """As op.add_sealed_column, to the table of the batch."""
        table = operations.impl
        operations.invoke(cls(table.table_name, column_name, longest_bytes=longest_bytes, schema=table.schema))

    def reverse(self) -> "DropSealedColumnOp":
        return DropSealedColumnOp.of(self)

    def to_diff_tuple(self) -> tuple[Any, ...]:
        return ("add_sealed_column", self.schema, self.table_name, self.column_name)


@Operations.register_operation("drop_sealed_column")
@BatchOperations.register_operation("drop_sealed_column", "batch_drop_sealed_column")
class DropSealedColumnOp(_SealedColumnOp):
    """Its indexes are dropped before."""

    @classmethod
    def drop_sealed_column(
        cls, operations: Operations, table_name: str, column_name: str, *, schema: str | None = None
    ) -> None:
        """Drop a sealed column with its values; drop its indexes first, by op.drop_blind_index."""
        operations.invoke(cls(table_name, column_name, schema=schema))

    @classmethod
    def batch_drop_sealed_column(cls, operations: BatchOperations, column_name: str) -> None:
        """As op.drop_sealed_column, of the table of the batch."""
        operations.invoke(cls(operations.impl.table_name, column_name, schema=operations.impl.schema))

    def reverse(self) -> AddSealedColumnOp:
        return AddSealedColumnOp.of(self)

    def to_diff_tuple(self) -> tuple[Any, ...]:
        return ("drop_sealed_column", self.schema, self.table_name, self.column_name)


@Operations.implementation_for(AddSealedColumnOp)
def _add(operations: Operations, operation: AddSealedColumnOp) -> None:
    column: Column[Any] = Column(operation.column_name, sealed_type(operation.longest_bytes), nullable=True)
    operations.invoke(AddColumnOp(operation.table_name, column, schema=operation.schema))


@Operations.implementation_for(DropSealedColumnOp)
def _drop(operations: Operations, operation: DropSealedColumnOp) -> None:
    drop_refusals(operations, operation.table_name, [operation.column_name], operation.schema)
    operations.invoke(DropColumnOp(operation.table_name, operation.column_name, schema=operation.schema))
