"""Key tables: how keyrings, wrapped keys and seal counts lie in SQL, the same on every database."""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
)
from sqlalchemy.dialects.mysql import VARBINARY

__all__ = ["kek_left_table", "key_table", "keyring_table", "metadata", "seal_count_table"]

metadata: Final = MetaData()


# Bytes that stand in keys: MySQL indexes no BLOB.
_KEYRING_ID: Final = LargeBinary(16).with_variant(VARBINARY(16), "mysql", "mariadb")
_KEY_ID: Final = LargeBinary(4).with_variant(VARBINARY(4), "mysql", "mariadb")

keyring_table: Final = Table(
    "noisevault_keyring",
    metadata,
    Column("id", _KEYRING_ID, primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("created_at", String(32), nullable=False),  # ISO 8601, UTC, microseconds
)

key_table: Final = Table(
    "noisevault_key",
    metadata,
    Column("key_id", _KEY_ID, primary_key=True),  # unique in the whole store, tombstones included
    Column("keyring_id", _KEYRING_ID, ForeignKey("noisevault_keyring.id"), nullable=False),
    Column("purpose", String(16), nullable=False),
    Column("sequence", Integer, nullable=False),
    Column("state", String(16), nullable=False),
    Column("wrapped", LargeBinary),  # NULL once destroyed
    Column("kek", String(500), nullable=False),
    Column("kek_version", String(64), nullable=False),
    Column("created_at", String(32), nullable=False),
    Column("changed_at", String(32), nullable=False),
    Column("destroy_after", String(32)),  # of a retired key only
    UniqueConstraint("keyring_id", "purpose", "sequence", name="noisevault_key_sequence"),
)

seal_count_table: Final = Table(
    "noisevault_seal_count",
    metadata,
    Column("key_id", _KEY_ID, ForeignKey("noisevault_key.key_id"), primary_key=True),
    Column("label", String(300), primary_key=True),
    Column("counted", BigInteger, nullable=False),
)

# KEKs that wrapped keys of a keyring once: a backup from before left_at is opened by them.
kek_left_table: Final = Table(
    "noisevault_kek_left",
    metadata,
    Column("keyring_id", _KEYRING_ID, ForeignKey("noisevault_keyring.id"), primary_key=True),
    Column("kek", String(500), primary_key=True),
    Column("left_at", String(32), nullable=False),
)
