"""Clearance tables: where it lies, beside the keys, what was found of a key in each database of its keyring."""

from typing import Final

from sqlalchemy import BigInteger, Column, LargeBinary, MetaData, Table
from sqlalchemy.dialects.mysql import VARBINARY

from kms.exact_text import MARIADB_TRANSACTIONAL, exact_text

__all__ = ["clearance_table", "metadata"]

metadata: Final = MetaData()
_KEYRING_ID: Final = LargeBinary(16).with_variant(VARBINARY(16), "mysql", "mariadb")
_KEY_ID: Final = LargeBinary(4).with_variant(VARBINARY(4), "mysql", "mariadb")

clearance_table: Final = Table(
    "noisevault_clearance",
    metadata,
    Column("keyring_id", _KEYRING_ID, primary_key=True),
    Column("key_id", _KEY_ID, primary_key=True),
    Column("identity", exact_text(64), primary_key=True),  # of noisevault_database
    Column("scanned_at", exact_text(32), nullable=False),  # when the last scan began, ISO 8601, UTC, microseconds
    Column("found", BigInteger, nullable=False),  # values, terms and slots that named the key
    # When the last scan began that found nothing while all columns refused the key; NULL if one found something since.
    Column("cleared_at", exact_text(32)),
    # For how long what was moved may come back there, in seconds, by its policy or by who retired; NULL if not said.
    Column("wait_seconds", BigInteger),
    **MARIADB_TRANSACTIONAL,
)
