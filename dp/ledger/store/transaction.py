"""Transaction: a piece of work that is wholly done or not at all, and is run again when the database asks for it.

On SQLite it begins with the write lock and ends on the disk (BEGIN IMMEDIATE, synchronous=FULL); on a server it is
READ COMMITTED, and the lock on the audit head does the ordering. When the answer to COMMIT is lost, nobody knows
whether it was done: the work is run again on a fresh connection and told so (`unsure`).
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from dp.ledger.errors import LedgerUnavailableError
from dp.ledger.store.unreadable import unreadable

T = TypeVar("T")
Work = Callable[[Connection, bool], T]

# SQL:2023 class 40 and PostgreSQL's appendix A: serialization failure, deadlock, lock not available.
RERUN_SQLSTATES: Final = frozenset({"40001", "40P01", "55P03"})
# MariaDB: lock wait timeout, deadlock, a record that changed since it was read.
MARIADB_RERUN: Final = frozenset({1205, 1213, 1020})
# MariaDB: server shutdown, connection killed.
MARIADB_LOST: Final = frozenset({1053, 1927})
# sqlite.org/rescode.html, primary codes: SQLITE_BUSY, SQLITE_LOCKED.
SQLITE_RERUN: Final = frozenset({5, 6})
# Ours: one turn of waiting for somebody else's transaction; there are as many turns as attempts.
LOCK_WAIT_MILLISECONDS: Final = 5_000


class Transactions:
    """Runs work against one engine. Safe for threads and, since SQLAlchemy's pool sees a fork, after one."""

    def __init__(
        self,
        engine: Engine,
        *,
        attempts: int = 10,
        lock_wait: int = LOCK_WAIT_MILLISECONDS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._engine = engine
        self._attempts = attempts
        self._lock_wait = lock_wait
        self._sleep = sleep

    def run(self, work: Work[T]) -> T:
        """What `work(connection, unsure)` returns, once it is committed. It may be called several times.

        Raises: LedgerUnavailableError when the database does not answer or stays contended; AuditError for bytes where
            text should be.
        """
        unsure, wrong = False, None
        for attempt in range(self._attempts):
            if attempt:
                self._sleep(0.002 * 2 ** min(attempt, 8))
            committing = False
            try:
                with self._begun("BEGIN IMMEDIATE", "READ COMMITTED") as connection:
                    result = work(connection, unsure)
                    committing = True
                    connection.commit()
            except DBAPIError as error:
                if must_rerun(error):
                    continue
                if committing or is_lost(error):
                    unsure = unsure or committing
                elif not isinstance(error, OperationalError | InterfaceError):
                    raise
                elif (wrong := unreadable(error)) is not None or not unsure:
                    break
            else:
                return result
        if wrong is not None:
            raise wrong
        raise LedgerUnavailableError(unsure=unsure)

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A connection that reads one state of the ledger throughout, and makes nobody wait."""
        try:
            with self._begun("BEGIN", "REPEATABLE READ") as connection:
                yield connection
        except (OperationalError, InterfaceError) as error:
            failure = unreadable(error) or LedgerUnavailableError(unsure=False)
        else:
            return
        raise failure

    def use_write_ahead_log(self) -> None:
        """On SQLite, for good: readers and the one writer do not wait for each other. Elsewhere nothing."""
        if self._engine.dialect.name == "sqlite":
            with self._engine.connect() as connection:
                connection.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql("PRAGMA journal_mode=WAL")

    @contextmanager
    def _begun(self, sqlite_begin: str, isolation: str) -> Iterator[Connection]:
        with self._engine.connect() as connection:
            for statement in _beginnings(connection, sqlite_begin, isolation, self._lock_wait):
                connection.exec_driver_sql(statement)
            yield connection


def _beginnings(connection: Connection, sqlite_begin: str, isolation: str, lock_wait: int) -> list[str]:
    """What is sent first. An engine may commit each statement by itself (isolation_level, or an option of its URL)."""
    dialect = connection.dialect
    if dialect.name == "sqlite":
        # SQLAlchemy's option for it would have SQLite compile every statement anew, transaction by transaction: it is
        # taken back with a PRAGMA that expires them. The driver begins none where one has begun.
        return [f"PRAGMA busy_timeout={lock_wait:d}", "PRAGMA synchronous=FULL", sqlite_begin]
    if dialect.name in {"mysql", "mariadb"}:
        statements = [
            f"SET SESSION innodb_lock_wait_timeout = {max(1, lock_wait // 1000):d}",
            # Of the next transaction. SQLAlchemy's option commits first, and fails with the driver's bare error.
            f"SET TRANSACTION ISOLATION LEVEL {isolation}",
            "START TRANSACTION",
        ]
        in_one = getattr(dialect, "is_mariadb", False)
        return [f"BEGIN NOT ATOMIC {'; '.join(statements)}; END"] if in_one else statements
    wait = f"SET LOCAL lock_timeout = {lock_wait:d}"
    if dialect.driver == "psycopg" and not getattr(connection.connection.driver_connection, "autocommit", True):
        # The driver begins before it. SQLAlchemy's option would be set, and taken back, each time.
        return [f"SET TRANSACTION ISOLATION LEVEL {isolation}; {wait}"]
    connection.execution_options(isolation_level=isolation)
    return [wait] if dialect.name == "postgresql" else []


def must_rerun(error: DBAPIError) -> bool:
    """The database rolled the transaction back and asks for the whole of it again."""
    original = error.orig
    if getattr(original, "sqlstate", None) in RERUN_SQLSTATES:
        return True
    if isinstance(code := getattr(original, "sqlite_errorcode", None), int):
        return code & 0xFF in SQLITE_RERUN
    return _mariadb_code(error) in MARIADB_RERUN


def is_lost(error: DBAPIError) -> bool:
    """The connection is gone, and with it the answer to what was sent last."""
    sqlstate = getattr(error.orig, "sqlstate", None) or ""
    return (
        error.connection_invalidated
        or sqlstate.startswith("08")
        or sqlstate in {"57P01", "57P02", "57P03"}
        or _mariadb_code(error) in MARIADB_LOST
    )


def _mariadb_code(error: DBAPIError) -> object:
    """PyMySQL gives the server's number first; other drivers have a text there."""
    arguments: tuple[object, ...] = getattr(error.orig, "args", ())
    return arguments[0] if arguments else None
