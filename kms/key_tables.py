"""Key tables: how keyrings, wrapped keys and seal counts lie in SQL, the same on every database."""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    UniqueConstraint,
)
from sqlalchemy.dialects.mysql import VARBINARY

from kms.exact_text import MARIADB_TRANSACTIONAL, exact_text

__all__ = ["kek_left_table", "key_table", "keyring_table", "metadata", "seal_count_table"]

metadata: Final = MetaData()


# Bytes that stand in keys: MySQL indexes no BLOB.
_KEYRING_ID: Final = LargeBinary(16).with_variant(VARBINARY(16), "mysql", "mariadb")
_KEY_ID: Final = LargeBinary(4).with_variant(VARBINARY(4), "mysql", "mariadb")

keyring_table: Final = Table(
    "noisevault_keyring",
    metadata,
    Column("id", _KEYRING_ID, primary_key=True),
    Column("name", exact_text(200), nullable=False, unique=True),
    Column("created_at", exact_text(32), nullable=False),  # ISO 8601, UTC, microseconds
    **MARIADB_TRANSACTIONAL,
)

key_table: Final = Table(
    "noisevault_key",
    metadata,
    Column("key_id", _KEY_ID, primary_key=True),  # unique in the whole store, tombstones included
    Column("keyring_id", _KEYRING_ID, ForeignKey("noisevault_keyring.id"), nullable=False),
    Column("purpose", exact_text(16), nullable=False),
    Column("sequence", Integer, nullable=False),
    Column("state", exact_text(16), nullable=False),
    Column("wrapped", LargeBinary),  # NULL once destroyed
    Column("kek", exact_text(500), nullable=False),
    Column("kek_version", exact_text(64), nullable=False),
    Column("created_at", exact_text(32), nullable=False),
    Column("changed_at", exact_text(32), nullable=False),
    Column("destroy_after", exact_text(32)),  # of a retired key only
    UniqueConstraint("keyring_id", "purpose", "sequence", name="noisevault_key_sequence"),
    **MARIADB_TRANSACTIONAL,
)

seal_count_table: Final = Table(
    "noisevault_seal_count",
    metadata,
    Column("key_id", _KEY_ID, ForeignKey("noisevault_key.key_id"), primary_key=True),
    Column("label", exact_text(300), primary_key=True),
    Column("counted", BigInteger, nullable=False),
    **MARIADB_TRANSACTIONAL,
)

# KEKs that wrapped keys of a keyring once: a backup from before left_at is opened by them.
kek_left_table: Final = Table(
    "noisevault_kek_left",
    metadata,
    Column("keyring_id", _KEYRING_ID, ForeignKey("noisevault_keyring.id"), primary_key=True),
    Column("kek", exact_text(500), primary_key=True),
    Column("left_at", exact_text(32), nullable=False),
    **MARIADB_TRANSACTIONAL,
)
