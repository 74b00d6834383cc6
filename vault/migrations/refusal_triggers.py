"""Refusal triggers: what a column has once a key was retired; they name the column, so they go before it does."""

from collections.abc import Iterable

from alembic.operations import Operations

from vault.retirement.key_refusal import KeyRefusal

__all__ = ["drop_refusals"]


def drop_refusals(operations: Operations, table: str, columns: Iterable[str], schema: str | None) -> None:
    """Nothing where there is none. SQLite's go with the table that a batch makes anew."""
    dialect = operations.get_context().dialect
    for column in columns:
        for statement in KeyRefusal(schema, table, column, 0).undo(dialect):
            operations.execute(statement)
