"""Blind index operations: op.create_blind_index and op.drop_blind_index, of a migration or of its batch.

An index is two columns of terms, of which the first has an index of the database.
"""

from typing import Any, Final, Self

from alembic.operations import BatchOperations, Operations
from alembic.operations.ops import AddColumnOp, AlterTableOp, CreateIndexOp, DropColumnOp, DropIndexOp
from sqlalchemy import ColumnClause, column, exists, inspect, select, table
from sqlalchemy.sql.elements import conv

from vault.definitions.index_slot import SLOTS, term_column
from vault.migrations.refusal_triggers import drop_refusals
from vault.migrations.shown_log import warn
from vault.migrations.stored_columns import term_column_pair
from vault.terms.term import RFC_2104_SHA_256_BITS

__all__ = ["CreateBlindIndexOp", "DropBlindIndexOp"]


OLD_ROWS: Final = (
    "%s has values already, and no terms for them are in index %s yet: look-ups would miss those rows, and a vault that"
    " knows the field without this index refuses to start with it. Declare the field's next generation= and run:"
    " noisevault reindex (docs/reindex.md)"
)


class _BlindIndexOp(AlterTableOp):
    """index: the name in BlindIndex(name=). index_name: the database's, where it is not the usual one."""

    def __init__(
        self,
        table_name: str,
        column_name: str,
        index: str = "bidx",
        *,
        bits: int = RFC_2104_SHA_256_BITS,
        unique: bool = False,
        index_name: str | None = None,
        schema: str | None = None,
    ) -> None:
        super().__init__(table_name, schema=schema)
        self.column_name = column_name
        self.index = index
        self.bits = bits
        self.unique = unique
        self.index_name = conv(index_name or self.usual_name)

    @classmethod
    def of(cls, other: "_BlindIndexOp") -> Self:
        """The operation on the same index."""
        return cls(
            other.table_name,
            other.column_name,
            other.index,
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
    def asked_column(self) -> str:
        """The term column that look-ups ask."""
        return term_column(self.column_name, self.index, SLOTS[0])


@Operations.register_operation("create_blind_index")
@BatchOperations.register_operation("create_blind_index", "batch_create_blind_index")
class CreateBlindIndexOp(_BlindIndexOp):
    """Says so when rows are there already."""

    @classmethod
    def create_blind_index(
        cls,
        operations: Operations,
        table_name: str,
        column_name: str,
        index: str = "bidx",
        *,
        bits: int = 256,
        unique: bool = False,
        index_name: str | None = None,
        schema: str | None = None,
    ) -> None:
        """Add the term columns of an index of a sealed column, and the database's index on the first of them."""
        operations.invoke(
            cls(table_name, column_name, index, bits=bits, unique=unique, index_name=index_name, schema=schema)
        )

    @classmethod
    def batch_create_blind_index(
        cls,
        operations: BatchOperations,
        column_name: str,
        index: str = "bidx",
        *,
        bits: int = 256,
        unique: bool = False,
        index_name: str | None = None,
    ) -> None:
        """As op.create_blind_index, in the table of the batch."""
        table, schema = operations.impl.table_name, operations.impl.schema
        operations.invoke(
            cls(table, column_name, index, bits=bits, unique=unique, index_name=index_name, schema=schema)
        )

    def reverse(self) -> "DropBlindIndexOp":
        return DropBlindIndexOp.of(self)

    def to_diff_tuple(self) -> tuple[Any, ...]:
        return ("create_blind_index", self.schema, self.table_name, self.column_name, self.index)


@Operations.register_operation("drop_blind_index")
@BatchOperations.register_operation("drop_blind_index", "batch_drop_blind_index")
class DropBlindIndexOp(_BlindIndexOp):
    """The terms are lost, the values stay."""

    @classmethod
    def drop_blind_index(
        cls,
        operations: Operations,
        table_name: str,
        column_name: str,
        index: str = "bidx",
        *,
        index_name: str | None = None,
        schema: str | None = None,
    ) -> None:
        """Drop the database's index and the term columns of an index of a sealed column."""
        operations.invoke(cls(table_name, column_name, index, index_name=index_name, schema=schema))

    @classmethod
    def batch_drop_blind_index(
        cls, operations: BatchOperations, column_name: str, index: str = "bidx", *, index_name: str | None = None
    ) -> None:
        """As op.drop_blind_index, in the table of the batch."""
        table, schema = operations.impl.table_name, operations.impl.schema
        operations.invoke(cls(table, column_name, index, index_name=index_name, schema=schema))

    def reverse(self) -> CreateBlindIndexOp:
        return CreateBlindIndexOp.of(self)

    def to_diff_tuple(self) -> tuple[Any, ...]:
        return ("drop_blind_index", self.schema, self.table_name, self.column_name, self.index)


@Operations.implementation_for(CreateBlindIndexOp)
def _create(operations: Operations, operation: CreateBlindIndexOp) -> None:
    if _has_values(operations, operation):
        warn(OLD_ROWS, f"{operation.table_name}.{operation.column_name}", operation.index)
    for terms in term_column_pair(operation.column_name, operation.index, operation.bits):
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


@Operations.implementation_for(DropBlindIndexOp)
def _drop(operations: Operations, operation: DropBlindIndexOp) -> None:
    pair = [term_column(operation.column_name, operation.index, slot) for slot in SLOTS]
    for index_name in _names_of_indexes(operations, operation, pair) or [operation.index_name]:
        operations.invoke(DropIndexOp(index_name, operation.table_name, schema=operation.schema))
    drop_refusals(operations, operation.table_name, pair, operation.schema)
    for name in pair:
        operations.invoke(DropColumnOp(operation.table_name, name, schema=operation.schema))


def _names_of_indexes(operations: Operations, operation: DropBlindIndexOp, pair: list[str]) -> list[str]:
    """Those that the database has on either column: the index may have changed over. --sql asks no database."""
    if operations.get_context().as_sql:
        return []
    there = inspect(operations.get_bind()).get_indexes(operation.table_name, schema=operation.schema)
    of_pair: list[list[str | None]] = [[name] for name in pair]
    return [conv(one["name"]) for one in there if one["name"] and one["column_names"] in of_pair]


def _has_values(operations: Operations, operation: CreateBlindIndexOp) -> bool:
    """Whether the column holds values. A column of the same batch is not there yet; --sql asks no database."""
    if operations.get_context().as_sql:
        return False
    connection = operations.get_bind()
    there = inspect(connection).get_columns(operation.table_name, schema=operation.schema)
    if operation.column_name not in {known["name"] for known in there}:
        return False
    sealed: ColumnClause[Any] = column(operation.column_name)
    rows = select(sealed).select_from(table(operation.table_name, sealed, schema=operation.schema))
    return bool(connection.scalar(select(exists(rows.where(sealed.is_not(None))))))
