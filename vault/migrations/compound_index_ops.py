"""Compound index operations: op.create_compound_index and op.drop_compound_index, of a migration or of its batch.

An index over several sealed columns is two columns of terms, <index>_a and _b, of which the first has an index of the
database.
"""

from collections.abc import Sequence
from typing import Any, Final, Self

from alembic.operations import BatchOperations, Operations
from alembic.operations.ops import AddColumnOp, AlterTableOp, CreateIndexOp, DropColumnOp, DropIndexOp
from sqlalchemy import ColumnClause, Select, and_, column, exists, inspect, literal_column, select, table
from sqlalchemy.sql.elements import conv

from vault.definitions.index_definition import compound_term_columns
from vault.migrations.refusal_triggers import drop_refusals
from vault.migrations.shown_log import warn
from vault.migrations.stored_columns import compound_column_pair
from vault.terms.term import RFC_2104_SHA_256_BITS

__all__ = ["CreateCompoundIndexOp", "DropCompoundIndexOp"]


OLD_ROWS: Final = (
    "%s has rows with values in all of %s, and no terms for them are in index %s yet: look-ups by it miss those rows"
    " until one of these values is written again in each (docs/migrations.md)"
)


class _CompoundIndexOp(AlterTableOp):
    """index: the name in CompoundIndex(). columns: of the table, in order; none where the model does not know them any
    more. index_name: the database's, where it is not the usual one.
    """

    def __init__(
        self,
        table_name: str,
        index: str,
        columns: Sequence[str] = (),
        *,
        bits: int = RFC_2104_SHA_256_BITS,
        unique: bool = False,
        index_name: str | None = None,
        schema: str | None = None,
    ) -> None:
        super().__init__(table_name, schema=schema)
        self.index = index
        self.columns = tuple(columns)
        self.bits = bits
        self.unique = unique
        self.index_name = conv(index_name or self.usual_name)

    @classmethod
    def of(cls, other: "_CompoundIndexOp") -> Self:
        """The operation on the same index."""
        return cls(
            other.table_name,
            other.index,
            other.columns,
            bits=other.bits,
            unique=other.unique,
            index_name=other.index_name,
            schema=other.schema,
        )

    @property
    def usual_name(self) -> str:
        """What SQLAlchemy calls the index when no naming convention says otherwise."""
        return f"ix_{self.schema + '_' if self.schema else ''}{self.table_name}_{self.asked_column}"

    @property
    def term_columns(self) -> tuple[str, ...]:
        """Those of both slots."""
        return compound_term_columns(self.index)

    @property
    def asked_column(self) -> str:
        """The term column that look-ups ask."""
        return self.term_columns[0]


@Operations.register_operation("create_compound_index")
@BatchOperations.register_operation("create_compound_index", "batch_create_compound_index")
class CreateCompoundIndexOp(_CompoundIndexOp):
    """Says so when rows are there already."""

    @classmethod
    def create_compound_index(
        cls,
        operations: Operations,
        table_name: str,
        index: str,
        columns: Sequence[str] = (),
        *,
        bits: int = 256,
        unique: bool = False,
        index_name: str | None = None,
        schema: str | None = None,
    ) -> None:
        """Add the term columns of an index over several sealed columns, and the database's index on the first of them.

        columns: those that it is over; only by them are rows told of that have values and no terms.
        """
        operations.invoke(
            cls(table_name, index, columns, bits=bits, unique=unique, index_name=index_name, schema=schema)
        )

    @classmethod
    def batch_create_compound_index(
        cls,
        operations: BatchOperations,
        index: str,
        columns: Sequence[str] = (),
        *,
        bits: int = 256,
        unique: bool = False,
        index_name: str | None = None,
    ) -> None:
        """As op.create_compound_index, in the table of the batch."""
        table, schema = operations.impl.table_name, operations.impl.schema
        operations.invoke(cls(table, index, columns, bits=bits, unique=unique, index_name=index_name, schema=schema))

    def reverse(self) -> "DropCompoundIndexOp":
        return DropCompoundIndexOp.of(self)

    def to_diff_tuple(self) -> tuple[Any, ...]:
        return ("create_compound_index", self.schema, self.table_name, self.index)


@Operations.register_operation("drop_compound_index")
@BatchOperations.register_operation("drop_compound_index", "batch_drop_compound_index")
class DropCompoundIndexOp(_CompoundIndexOp):
    """The terms are lost, the values stay."""

    @classmethod
    def drop_compound_index(
        cls,
        operations: Operations,
        table_name: str,
        index: str,
        *,
        index_name: str | None = None,
        schema: str | None = None,
    ) -> None:
        """Drop the database's index and the term columns of an index over several sealed columns."""
        operations.invoke(cls(table_name, index, index_name=index_name, schema=schema))

    @classmethod
    def batch_drop_compound_index(
        cls, operations: BatchOperations, index: str, *, index_name: str | None = None
    ) -> None:
        """As op.drop_compound_index, in the table of the batch."""
        table, schema = operations.impl.table_name, operations.impl.schema
        operations.invoke(cls(table, index, index_name=index_name, schema=schema))

    def reverse(self) -> CreateCompoundIndexOp:
        return CreateCompoundIndexOp.of(self)

    def to_diff_tuple(self) -> tuple[Any, ...]:
        return ("drop_compound_index", self.schema, self.table_name, self.index)


@Operations.implementation_for(CreateCompoundIndexOp)
def _create(operations: Operations, operation: CreateCompoundIndexOp) -> None:
    if _has_values(operations, operation):
        warn(OLD_ROWS, operation.table_name, ", ".join(operation.columns), operation.index)
    for terms in compound_column_pair(operation.index, operation.bits):
        operations.invoke(AddColumnOp(operation.table_name, terms, schema=operation.schema))
    operations.invoke(
        CreateIndexOp(
            operation.index_name,
            operation.table_name,
            [operation.asked_column],
            schema=operation.schema,
            unique=operation.unique,
        )
    )


@Operations.implementation_for(DropCompoundIndexOp)
def _drop(operations: Operations, operation: DropCompoundIndexOp) -> None:
    operations.invoke(DropIndexOp(operation.index_name, operation.table_name, schema=operation.schema))
    drop_refusals(operations, operation.table_name, operation.term_columns, operation.schema)
    for name in operation.term_columns:
        operations.invoke(DropColumnOp(operation.table_name, name, schema=operation.schema))


def _has_values(operations: Operations, operation: CreateCompoundIndexOp) -> bool:
    """Whether a row has a value in every column. One of the same batch is not there yet; --sql asks no database."""
    if operations.get_context().as_sql or not operation.columns:
        return False
    connection = operations.get_bind()
    there = inspect(connection).get_columns(operation.table_name, schema=operation.schema)
    if not set(operation.columns) <= {known["name"] for known in there}:
        return False
    parts: list[ColumnClause[Any]] = [column(name) for name in operation.columns]
    rows: Select[Any] = select(literal_column("1")).select_from(
        table(operation.table_name, *parts, schema=operation.schema)
    )
    return bool(connection.scalar(select(exists(rows.where(and_(*(part.is_not(None) for part in parts)))))))
