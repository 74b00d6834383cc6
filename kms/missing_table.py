"""Missing table: what each driver says of a table that is not in the database."""

from sqlalchemy.exc import DBAPIError

__all__ = ["misses_table"]

POSTGRESQL_UNDEFINED_TABLE = "42P01"
MARIADB_NO_SUCH_TABLE = 1146


def misses_table(error: DBAPIError) -> bool:
    """Whether the statement failed since a table is not there, or was there and is not now."""
    orig = error.orig
    arguments = getattr(orig, "args", ())
    return (
        "no such table" in str(orig)  # all that SQLite says
        or getattr(orig, "sqlstate", None) == POSTGRESQL_UNDEFINED_TABLE
        or MARIADB_NO_SUCH_TABLE in arguments[:1]
    )
