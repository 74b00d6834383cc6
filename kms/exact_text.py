"""Exact text: a text column that takes two texts for equal only if they are the same, on every database.

MariaDB's usual collations ignore case, accents and blanks at the end, and its tables may hold Latin letters only.
"""

from typing import Any, Final

from sqlalchemy import String, Text
from sqlalchemy.dialects.mysql import LONGTEXT, VARCHAR

__all__ = ["MARIADB_TRANSACTIONAL", "exact_long_text", "exact_text"]

CHARACTERS: Final[dict[str, Any]] = {"charset": "utf8mb4", "collation": "utf8mb4_nopad_bin"}
# Arguments of a Table: a server's default engine may know no transactions.
MARIADB_TRANSACTIONAL: Final[dict[str, Any]] = {"mysql_engine": "InnoDB", "mariadb_engine": "InnoDB"}


def exact_text(length: int) -> String:
    """length: in characters; of a key column at most 768 on MariaDB, all of a key together."""
    return String(length).with_variant(VARCHAR(length, **CHARACTERS), "mysql", "mariadb")


def exact_long_text() -> Text:
    """Of any length, not for keys."""
    return Text().with_variant(LONGTEXT(**CHARACTERS), "mysql", "mariadb")
