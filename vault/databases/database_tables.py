"""Database tables: where the register of a keyring's databases lies in SQL, beside the keys."""

from typing import Final

from sqlalchemy import Column, LargeBinary, MetaData, Table
from sqlalchemy.dialects.mysql import VARBINARY

from kms.exact_text import MARIADB_TRANSACTIONAL, exact_text

__all__ = ["database_table", "metadata"]

metadata: Final = MetaData()

database_table: Final = Table(
    "noisevault_database",
    metadata,
    Column("keyring_id", LargeBinary(16).with_variant(VARBINARY(16), "mysql", "mariadb"), primary_key=True),
    Column("identity", exact_text(64), primary_key=True),  # SHA-256 of what it is told apart by, hexadecimal
    Column("place", exact_text(500), nullable=False),  # as an operator reads it
    Column("instance", exact_text(150), nullable=False),  # the run of a server; empty where none is told
    Column("first_seen", exact_text(32), nullable=False),  # ISO 8601, UTC, microseconds
    Column("last_seen", exact_text(32), nullable=False),
    Column("forgotten_at", exact_text(32)),  # an operator said that it is no more
    **MARIADB_TRANSACTIONAL,
)
