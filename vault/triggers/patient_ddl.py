"""Patient DDL: statements on a table whose lock is asked for shortly, and again, so that writers never queue for long.

What makes a trigger waits for every transaction that has written to the table. Who holds it all the while is not
ended: the error says how to find the transaction.
"""

import time
from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from vault.errors import VaultError
from vault.triggers.exact_sql import exact_place

__all__ = [
    "PATIENCE",
    "family_of",
    "is_not_allowed",
    "run_or_leave_to_owner",
    "run_patiently",
    "wait_for_writers",
]

FAMILIES: Final = {"postgresql": "postgresql", "mysql": "mariadb", "mariadb": "mariadb", "sqlite": "sqlite"}
# Ours: writers queue behind whoever waits for the table, so it is asked for shortly, and again.
LOCK_MILLISECONDS: Final = 500
PAUSE_SECONDS: Final = 0.5
PATIENCE: Final = 120.0
# PostgreSQL: lock not available, deadlock. MariaDB: lock wait timeout, deadlock. SQLite: by its text alone.
HELD_SQLSTATES: Final = frozenset({"55P03", "40P01"})
HELD_CODES: Final = frozenset({1205, 1213})
# PostgreSQL: insufficient_privilege. MariaDB: command or table access denied, trigger or function not allowed.
NOT_ALLOWED_SQLSTATES: Final = frozenset({"42501"})
NOT_ALLOWED_CODES: Final = frozenset({1044, 1142, 1227, 1419})
WHO_HOLDS: Final = {
    "postgresql": "SELECT pid, state, xact_start, application_name FROM pg_stat_activity WHERE xact_start IS NOT NULL"
    " ORDER BY xact_start, and SELECT gid, prepared FROM pg_prepared_xacts",
    "mariadb": "SELECT trx_mysql_thread_id, trx_started FROM information_schema.innodb_trx ORDER BY trx_started",
    "sqlite": "the processes that have its file open, as by lsof",
}


def run_patiently(
    engine: Engine,
    statements: Sequence[str],
    table: str,
    error: type[VaultError],
    patience: float = PATIENCE,
) -> None:
    """Execute them one after the other, in one transaction where DDL has any (MariaDB's has none).

    table: its name, for errors. patience: seconds for which others may hold it. Raises: error when they do not let go;
    DBAPIError for what is not waited for.
    """
    end = time.monotonic() + patience
    while True:
        try:
            with engine.connect() as connection:
                _run(connection, statements)
        except DBAPIError as refused:
            if not _is_held(refused):
                raise
        else:
            return
        if time.monotonic() > end:
            raise error(
                f"some transaction has held {table} for {patience:g} s: end it, or come back later, by the same"
                f" command; it is one of: {WHO_HOLDS[family_of(engine, error)]}"
            )
        time.sleep(PAUSE_SECONDS)


def wait_for_writers(
    engine: Engine, schema: str | None, table: str, error: type[VaultError], patience: float = PATIENCE
) -> None:
    """Until every transaction that has written to the table has ended. Raises: as run_patiently."""
    name = exact_place(engine, schema, table)
    statements = {
        "postgresql": (f"LOCK TABLE {name} IN SHARE ROW EXCLUSIVE MODE",),
        "mariadb": (f"LOCK TABLES {name} WRITE", "UNLOCK TABLES"),
        "sqlite": (),  # the one writer of the file
    }
    run_patiently(engine, statements[family_of(engine, error)], table, error, patience)


def run_or_leave_to_owner(
    engine: Engine,
    statements: Sequence[str],
    table: str,
    error: type[VaultError],
    doing: str,
    patience: float = PATIENCE,
) -> None:
    """As run_patiently. doing: what this role may not, such as "make a trigger on person", where it may not.

    Raises: error also then, with the statements for the table's owner to run.
    """
    try:
        run_patiently(engine, statements, table, error, patience)
    except DBAPIError as refused:
        if not is_not_allowed(refused):
            raise
        listed = ["BEGIN", *statements, "COMMIT"] if family_of(engine, error) == "postgresql" else statements
        told = ";\n".join(listed)
        raise error(
            f"this role may not {doing}: let its owner run what follows, then go on by the same command\n{told};"
        ) from None


def family_of(engine: Engine, error: type[VaultError]) -> str:
    """postgresql, mariadb or sqlite. Raises: error for another."""
    found = FAMILIES.get(engine.dialect.name)
    if found is None:
        raise error(f"no trigger is known for {engine.dialect.name}: PostgreSQL, MariaDB and SQLite are")
    return found


def is_not_allowed(error: DBAPIError) -> bool:
    """Whether the role lacks a right, which the table's owner has."""
    return getattr(error.orig, "sqlstate", None) in NOT_ALLOWED_SQLSTATES or _argument(error) in NOT_ALLOWED_CODES


def _is_held(error: DBAPIError) -> bool:
    argument = _argument(error)
    sqlstate = getattr(error.orig, "sqlstate", None)
    return sqlstate in HELD_SQLSTATES or argument in HELD_CODES or "locked" in str(argument)


def _argument(error: DBAPIError) -> Any:
    return (getattr(error.orig, "args", ()) or (None,))[0]


def _run(connection: Connection, statements: Sequence[str]) -> None:
    """By the driver's own cursor, to which a percent sign is one."""
    driver: Any = connection.connection
    cursor = driver.cursor()
    before, after = _around(connection)
    if connection.dialect.name == "sqlite" and driver.dbapi_connection.in_transaction:
        driver.rollback()
    try:
        cursor.execute(before)
        try:
            for statement in statements:
                cursor.execute(statement)
        finally:
            if connection.dialect.name in {"mysql", "mariadb"}:
                cursor.execute(after)  # the connection goes back to a pool
        if connection.dialect.name not in {"mysql", "mariadb"}:
            driver.commit()
    except connection.dialect.loaded_dbapi.Error as error:
        driver.rollback()
        raise DBAPIError.instance("", (), error, connection.dialect.loaded_dbapi.Error) from None
    finally:
        cursor.close()


def _around(connection: Connection) -> tuple[str, str]:
    match connection.dialect.name:
        case "postgresql":
            return f"SET LOCAL lock_timeout = {LOCK_MILLISECONDS}", ""
        case "sqlite":
            return "BEGIN IMMEDIATE", ""
        case _:
            seconds = max(1, LOCK_MILLISECONDS // 1000)
            return f"SET SESSION lock_wait_timeout = {seconds}", "SET SESSION lock_wait_timeout = DEFAULT"
