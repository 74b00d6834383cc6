"""Changeover tables: where the phases, what was found, and the history of all changes lie, beside the keys."""

from typing import Any, Final

from sqlalchemy import Column, Integer, LargeBinary, MetaData, Table, and_
from sqlalchemy.dialects.mysql import VARBINARY

from kms.exact_text import MARIADB_TRANSACTIONAL, exact_long_text, exact_text
from vault.changeover.phase import Subject

__all__ = ["changeover_event_table", "changeover_part_table", "changeover_table", "is_of", "metadata"]

metadata: Final = MetaData()
_KEYRING_ID: Final = LargeBinary(16).with_variant(VARBINARY(16), "mysql", "mariadb")

# One row a changeover that is under way. The names are those of Subject, empty where it has none.
changeover_table: Final = Table(
    "noisevault_changeover",
    metadata,
    Column("keyring_id", _KEYRING_ID, primary_key=True),
    Column("table_name", exact_text(200), primary_key=True),
    Column("column_name", exact_text(100), primary_key=True),
    Column("index_name", exact_text(100), primary_key=True),
    Column("old_place", exact_text(16), nullable=False),  # a, b, plaintext, sealed; empty for none
    Column("new_place", exact_text(16), nullable=False),
    Column("phase", Integer, nullable=False),  # 1 to 4
    Column("came_from", Integer, nullable=False),
    Column("since", exact_text(32), nullable=False),  # ISO 8601, UTC, microseconds
    **MARIADB_TRANSACTIONAL,
)

# What was found of one place in each table and column that it changes in: when, or NULL.
changeover_part_table: Final = Table(
    "noisevault_changeover_part",
    metadata,
    Column("keyring_id", _KEYRING_ID, primary_key=True),
    Column("table_name", exact_text(200), primary_key=True),
    Column("column_name", exact_text(100), primary_key=True),
    Column("index_name", exact_text(100), primary_key=True),
    Column("part_table", exact_text(200), primary_key=True),
    Column("part_column", exact_text(100), primary_key=True),
    Column("place", exact_text(16), primary_key=True),
    Column("guarded_at", exact_text(32)),
    Column("complete_at", exact_text(32)),
    Column("empty_at", exact_text(32)),
    **MARIADB_TRANSACTIONAL,
)

# Nothing is changed or deleted here. phase_before and phase_after are 0 before the begin and after the end.
changeover_event_table: Final = Table(
    "noisevault_changeover_event",
    metadata,
    Column("keyring_id", _KEYRING_ID, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("table_name", exact_text(200), nullable=False),
    Column("column_name", exact_text(100), nullable=False),
    Column("index_name", exact_text(100), nullable=False),
    Column("old_place", exact_text(16), nullable=False),
    Column("new_place", exact_text(16), nullable=False),
    Column("phase_before", Integer, nullable=False),
    Column("phase_after", Integer, nullable=False),
    Column("at", exact_text(32), nullable=False),
    Column("who", exact_text(200), nullable=False),
    Column("why", exact_long_text(), nullable=False),
    **MARIADB_TRANSACTIONAL,
)


def is_of(table: Table, subject: Subject) -> Any:
    """The condition that a row of one of these tables is of the subject; the keyring is left to the caller."""
    return and_(
        table.c.table_name == subject.table,
        table.c.column_name == subject.column,
        table.c.index_name == subject.index,
    )
