"""Full disk: a write that the database refused because it has no room; the same write succeeds when room was made."""

from typing import Final

from sqlalchemy.exc import DBAPIError

__all__ = ["is_full_disk"]

# PostgreSQL's appendix A: disk full. MariaDB: disk full, table full, error writing a file.
SQLSTATE: Final = "53100"
MARIADB_CODES: Final = frozenset({3, 1021, 1026, 1114})
# sqlite.org/rescode.html: SQLITE_FULL.
SQLITE_FULL: Final = 13


def is_full_disk(error: DBAPIError) -> bool:
    arguments = getattr(error.orig, "args", ()) or (None,)
    return (
        getattr(error.orig, "sqlstate", None) == SQLSTATE
        or arguments[0] in MARIADB_CODES
        or getattr(error.orig, "sqlite_errorcode", 0) & 0xFF == SQLITE_FULL
    )
