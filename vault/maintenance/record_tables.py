"""Record tables: where it lies in SQL, beside the keys, what maintenance did last."""

from typing import Final

from sqlalchemy import BigInteger, Column, LargeBinary, MetaData, Table
from sqlalchemy.dialects.mysql import VARBINARY

from kms.exact_text import MARIADB_TRANSACTIONAL, exact_text

__all__ = ["maintenance_table", "metadata"]

metadata: Final = MetaData()

maintenance_table: Final = Table(
    "noisevault_maintenance",
    metadata,
    Column("keyring_id", LargeBinary(16).with_variant(VARBINARY(16), "mysql", "mariadb"), primary_key=True),
    Column("identity", exact_text(64), primary_key=True),  # of noisevault_database
    Column("step", exact_text(16), primary_key=True),
    Column("scope", exact_text(200), primary_key=True),  # a table, a key id; empty: none
    Column("outcome", exact_text(16), nullable=False),
    Column("begun_at", exact_text(32), nullable=False),  # ISO 8601, UTC, microseconds
    Column("ended_at", exact_text(32), nullable=False),
    Column("succeeded_at", exact_text(32)),
    Column("runs", BigInteger, nullable=False),
    Column("failures", BigInteger, nullable=False),
    Column("row_number", BigInteger, nullable=False),  # rows that were looked at, or that name the key
    Column("milliseconds", BigInteger, nullable=False),
    Column("goal", exact_text(64), nullable=False),
    **MARIADB_TRANSACTIONAL,
)
