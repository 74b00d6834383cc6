"""Definition tables: where the definitions of fields and the pins of their index slots lie in SQL."""

from typing import Final

from sqlalchemy import Column, Integer, LargeBinary, MetaData, Table
from sqlalchemy.dialects.mysql import VARBINARY
from sqlalchemy.types import TypeEngine

from kms.exact_text import MARIADB_TRANSACTIONAL, exact_long_text, exact_text

__all__ = ["field_table", "index_slot_table", "index_table", "metadata"]

metadata: Final = MetaData()


def _id(size: int) -> TypeEngine[bytes]:
    """Bytes that can stand in a primary key; MySQL indexes no BLOB."""
    return LargeBinary(size).with_variant(VARBINARY(size), "mysql", "mariadb")


field_table: Final = Table(
    "noisevault_field",
    metadata,
    Column("keyring_id", _id(16), primary_key=True),
    Column("table_name", exact_text(200), primary_key=True),
    Column("column_name", exact_text(100), primary_key=True),
    Column("generation", Integer, primary_key=True, autoincrement=False),
    Column("definition", exact_long_text(), nullable=False),  # canonical JSON
    Column("fingerprint", exact_text(64), nullable=False),  # SHA-256 of it, hexadecimal
    **MARIADB_TRANSACTIONAL,
)

# Indexes that are not one field's own: over several columns, and those that columns share, whose table_name is empty.
index_table: Final = Table(
    "noisevault_index",
    metadata,
    Column("keyring_id", _id(16), primary_key=True),
    Column("table_name", exact_text(200), primary_key=True),
    Column("index_name", exact_text(100), primary_key=True),  # or the scope's name
    Column("generation", Integer, primary_key=True, autoincrement=False),
    Column("definition", exact_long_text(), nullable=False),  # canonical JSON
    Column("fingerprint", exact_text(64), nullable=False),  # SHA-256 of it, hexadecimal
    **MARIADB_TRANSACTIONAL,
)

index_slot_table: Final = Table(
    "noisevault_index_slot",
    metadata,
    Column("keyring_id", _id(16), primary_key=True),
    Column("table_name", exact_text(200), primary_key=True),
    Column("column_name", exact_text(100), primary_key=True),  # empty for the indexes of noisevault_index
    Column("index_name", exact_text(100), primary_key=True),
    Column("slot", exact_text(1), primary_key=True),  # a or b
    Column("key_id", _id(4), nullable=False),
    Column("generation", Integer, nullable=False),
    **MARIADB_TRANSACTIONAL,
)
