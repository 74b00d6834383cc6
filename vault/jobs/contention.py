"""Contention: a transaction that the database ended because of another one, and that left nothing behind."""

from typing import Final

from sqlalchemy.exc import DBAPIError

__all__ = ["ran_out_of_time", "was_ended_for_another"]

# SQL:2023 class 40 and PostgreSQL's appendix A: serialization failure, deadlock, lock not available.
SQLSTATES: Final = frozenset({"40001", "40P01", "55P03"})
# Query canceled: by statement_timeout, which the writer of a unique index sets, or by an operator.
OUT_OF_TIME: Final = "57014"
# MariaDB: lock wait timeout, deadlock, a record that changed since it was read.
MARIADB_CODES: Final = frozenset({1205, 1213, 1020})
# sqlite.org/rescode.html: somebody else writes, in this process (LOCKED) or another (BUSY); the low byte of the code.
SQLITE_CODES: Final = frozenset({5, 6})


def was_ended_for_another(error: DBAPIError) -> bool:
    """Whether the same transaction may succeed the next time."""
    arguments = getattr(error.orig, "args", ()) or (None,)
    return (
        getattr(error.orig, "sqlstate", None) in SQLSTATES
        or arguments[0] in MARIADB_CODES
        or getattr(error.orig, "sqlite_errorcode", 0) & 0xFF in SQLITE_CODES
    )


def ran_out_of_time(error: DBAPIError) -> bool:
    """Whether a batch took longer than it may hold its rows: a smaller one may do."""
    return getattr(error.orig, "sqlstate", None) == OUT_OF_TIME
