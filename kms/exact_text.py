"""Exact text: a text column that takes two texts for equal only if they are the same, on every database.

MariaDB's usual collations ignore case, accents and blanks at the end, and its tables may hold Latin letters only.
"""

from typing import Any, Final

from sqlalchemy import String, Text
from sqlalchemy.dialects.mysql import LONGTEXT, VARCHAR

__all__ = ["MARIADB_LONGEST_KEY_BYTES", "MARIADB_TRANSACTIONAL", "exact_key_text", "exact_long_text", "exact_text"]

CHARACTERS: Final[dict[str, Any]] = {"charset": "utf8mb4", "collation": "utf8mb4_nopad_bin"}
# mariadb.com/kb/en/innodb-limitations: of an index, all its columns together, at four bytes a character.
MARIADB_LONGEST_KEY_BYTES: Final = 3072
# Arguments of a Table: a server's default engine may know no transactions.
MARIADB_TRANSACTIONAL: Final[dict[str, Any]] = {"mysql_engine": "InnoDB", "mariadb_engine": "InnoDB"}


def exact_text(length: int) -> String:
    """length: in characters."""
    return String(length).with_variant(VARCHAR(length, **CHARACTERS), "mysql", "mariadb")


def exact_long_text() -> Text:
    """Of any length, not for keys."""
    return Text().with_variant(LONGTEXT(**CHARACTERS), "mysql", "mariadb")


def exact_key_text(columns: int) -> Text:
    """Of any length, but on MariaDB what fits into a key of that many columns."""
    characters = MARIADB_LONGEST_KEY_BYTES // columns // 4
    return Text().with_variant(VARCHAR(characters, **CHARACTERS), "mysql", "mariadb")
