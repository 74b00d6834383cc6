"""Key database: an engine whose transactions are short, durable and bounded in time, on SQLite and on servers."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from kms.errors import MisconfiguredError, MissingExtraError, UnavailableError
from kms.fork import forget_in_child, let_go_before_fork
from kms.fork_gate import ForkGate
from kms.missing_table import misses_table

__all__ = [
    "close_before_fork",
    "close_for_good",
    "erase_old_pages",
    "open_key_database",
    "prepare",
    "reading",
    "writing",
]

CONNECT_SECONDS: Final = 5
STATEMENT_SECONDS: Final = 10
# Ours: a process that is frozen, or cut off, in a transaction is ended before those who wait for it give up.
IDLE_SECONDS: Final = 5
SQLITE_BUSY_SECONDS: Final = 10
POSTGRESQL: Final[dict[str, Any]] = {
    "pool_pre_ping": True,
    "pool_timeout": STATEMENT_SECONDS,
    "connect_args": {
        "connect_timeout": CONNECT_SECONDS,
        "tcp_user_timeout": STATEMENT_SECONDS * 1000,
        "options": f"-c statement_timeout={STATEMENT_SECONDS * 1000} -c lock_timeout={STATEMENT_SECONDS * 1000}"
        f" -c idle_in_transaction_session_timeout={IDLE_SECONDS * 1000}",
        "target_session_attrs": "read-write",  # a replica's news are old
    },
}
MARIADB: Final[dict[str, Any]] = {
    "pool_pre_ping": True,
    "pool_timeout": STATEMENT_SECONDS,
    "connect_args": {
        "connect_timeout": CONNECT_SECONDS,
        # A server that still answers ends the statement first.
        "read_timeout": STATEMENT_SECONDS + CONNECT_SECONDS,
        "write_timeout": STATEMENT_SECONDS + CONNECT_SECONDS,
        "init_command": f"SET SESSION max_statement_time={STATEMENT_SECONDS}, lock_wait_timeout={STATEMENT_SECONDS},"
        f" innodb_lock_wait_timeout={STATEMENT_SECONDS}, idle_transaction_timeout={IDLE_SECONDS}",
    },
}
DRIVERS: Final[dict[str, dict[str, Any]]] = {
    "sqlite": {},
    "sqlite+pysqlite": {},
    "postgresql": POSTGRESQL,
    "postgresql+psycopg": POSTGRESQL,
    "mysql+pymysql": MARIADB,
    "mariadb+pymysql": MARIADB,
}
EXTRAS: Final = {"pymysql": "mysql"}
URLS: Final = (
    "keys are kept in sqlite:///PATH, postgresql+psycopg://USER@HOST/DATABASE or mariadb+pymysql://USER@HOST/DATABASE:"
    " write one of them"
)
# As PostgreSQL does it: no locks on the gaps between rows, and a value that does not fit is an error.
MARIADB_SESSION: Final = (
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET SESSION sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES')",
)
# A transaction that only reads says so, and does not wait for SQLite's one writer.
READ_ONLY: Final = "noisevault_read_only"
# All SQLite engines of the process: SQLite's own locks are the process's.
_sqlite: Final = ForkGate()
forget_in_child(_sqlite)
let_go_before_fork(_sqlite, ForkGate.shut, ForkGate.reopen)


def open_key_database(url: str) -> Engine:
    """An engine for keys and counters: on SQLite a file of their own, on a server connections of their own.

    Raises: MisconfiguredError for anything else, MissingExtraError if the driver is not installed.
    """
    try:
        engine = create_engine(url, hide_parameters=True, **DRIVERS[make_url(url).drivername])
    except (ArgumentError, KeyError):
        raise MisconfiguredError(URLS) from None
    except ModuleNotFoundError as missing:
        extra = EXTRAS.get(str(missing.name), "postgres")
        raise MissingExtraError(f"{missing.name} is not installed: pip install 'noisevault[{extra}]'") from None
    if engine.dialect.name == "sqlite" and not isinstance(engine.pool, QueuePool):
        raise MisconfiguredError(URLS)  # in memory, where every thread would have other keys
    prepare(engine)
    return engine


def prepare(engine: Engine) -> None:
    """Install what SQLite and MariaDB need, once; nothing on PostgreSQL."""
    if engine.dialect.name in {"mysql", "mariadb"} and not event.contains(engine, "connect", _set_up_mariadb):
        event.listen(engine, "connect", _set_up_mariadb)
    if engine.dialect.name == "sqlite" and not event.contains(engine, "connect", _set_up_sqlite):
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        close_before_fork(engine)


def close_before_fork(engine: Engine) -> None:
    """Let no child inherit an open SQLite file: it would hold none of the locks, and others delete the log under it."""
    if engine.dialect.name == "sqlite":
        let_go_before_fork(engine, _let_go)


def _let_go(engine: Engine) -> None:
    _sqlite.shut()  # so that no connection is in use
    _close_idle(engine)


def _close_idle(engine: Engine) -> None:
    if isinstance(engine.pool, QueuePool):  # a database in memory is not a file, and would be lost
        engine.dispose()


def close_for_good(engine: Engine) -> None:
    """Close idle connections now, and those in use, or opened later, when they are given back."""
    if not event.contains(engine, "checkin", _close_given_back):
        # First: dispose() leaves those in use to a pool of their own.
        event.listen(engine, "checkin", _close_given_back)
    engine.dispose()


def _close_given_back(_connection: object, record: ConnectionPoolEntry) -> None:
    record.invalidate()


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A transaction that reads. Raises: UnavailableError if the database does not answer."""
    with _translated(), _beside_no_fork(engine), _to_read(engine) as connection, connection.begin():
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes, committed at the end. Raises: UnavailableError."""
    with _translated(), _beside_no_fork(engine), engine.begin() as connection:
        yield connection


def erase_old_pages(engine: Engine) -> None:
    """Empty SQLite's log, which keeps what was overwritten; nothing on servers.

    Raises: UnavailableError if somebody reads all the while.
    """
    if engine.dialect.name != "sqlite":
        return
    with _translated(), _beside_no_fork(engine), engine.connect() as connection:
        cursor = connection.connection.cursor()  # the driver's own: a checkpoint is made outside of transactions
        try:
            busy = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        except sqlite3.OperationalError:
            busy = True
        finally:
            cursor.close()
    if busy:
        raise UnavailableError("the key store's log cannot be emptied while it is read: try again")


def _to_read(engine: Engine) -> Connection:
    return engine.connect().execution_options(**{READ_ONLY: True})


def _beside_no_fork(engine: Engine) -> AbstractContextManager[None]:
    return _sqlite.passed() if engine.dialect.name == "sqlite" else nullcontext()


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (OperationalError, InterfaceError, PoolTimeoutError) as error:
        raise UnavailableError(f"the key store does not answer ({_cause(error)}): look at its database") from None
    except DBAPIError as error:
        if error.connection_invalidated:
            raise UnavailableError(f"the key store hung up ({_cause(error)}): look at its database") from None
        if misses_table(error):  # as while a restore has dropped it
            raise UnavailableError(f"the key store is not whole ({_cause(error)}): look at its database") from None
        raise


def _cause(error: Exception) -> str:
    """The driver's own first line; the statement and its parameters are left out."""
    orig = getattr(error, "orig", None) or error
    lines = str(orig).splitlines() or [""]
    return f"{type(orig).__name__}: {lines[0][:200]}"


def _set_up_mariadb(connection: Any, _record: object) -> None:
    try:
        with connection.cursor() as cursor:
            for statement in MARIADB_SESSION:
                cursor.execute(statement)
            cursor.execute("SELECT @@read_only")
            if cursor.fetchone()[0]:
                raise connection.OperationalError("the server is read-only; a replica's news are old")
    except connection.Error:
        connection.close()  # the pool does not
        raise


def _set_up_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver begins nothing by itself, see _begin_sqlite
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {SQLITE_BUSY_SECONDS * 1000}")
    _switch_to_wal(cursor)
    cursor.execute("PRAGMA synchronous = FULL")  # a counted block must survive a power cut
    cursor.execute("PRAGMA secure_delete = ON")  # a destroyed key's bytes are overwritten
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _switch_to_wal(cursor: Any) -> None:
    """SQLite does not wait by itself for this one lock."""
    end = time.monotonic() + SQLITE_BUSY_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return


def _begin_sqlite(connection: Connection) -> None:
    read_only = connection.get_execution_options().get(READ_ONLY, False)
    connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")
