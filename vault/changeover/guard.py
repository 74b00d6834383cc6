"""Guard: a trigger that refuses a row with a value and without the place that is about to be asked.

It stops a process that slept through its lease, and a replica or a restore that brings back what such a process wrote.
Making it waits for every transaction that has written to the table; so the scan that follows misses none. Where no
trigger can tell (see docs/reindex.md), waiting for those transactions is all that is done.

Only a write of the value or of the place is judged: an update of other columns leaves a row as it was.
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from vault.changeover.exact_sql import exact_name, exact_place, for_driver
from vault.errors import ChangeoverError

__all__ = ["Guard", "drop_guard", "is_guarded", "is_not_allowed", "make_guard", "wait_for_writers"]

MARIADB: Final = frozenset({"mysql", "mariadb"})
# Ours: writers queue behind whoever waits for the table, so it is asked for shortly, and again.
LOCK_MILLISECONDS: Final = 500
TRIES: Final = 120
PAUSE_SECONDS: Final = 0.5
# PostgreSQL: insufficient_privilege. MariaDB: command or table access denied, trigger or function not allowed.
NOT_ALLOWED_SQLSTATES: Final = frozenset({"42501"})
NOT_ALLOWED_CODES: Final = frozenset({1044, 1142, 1227, 1419})
MESSAGE: Final = "noisevault: a value without its term in {}; this process holds an older phase of the changeover"


@dataclass(frozen=True, slots=True)
class Guard:
    """given: the columns that all have to be NOT NULL for a row to need the place. needs: the column of the place.

    All are column names of one table as SQL has them. owner: the keyring whose rows alone are judged, and keys: the ids
    of its data keys, one of which the value in owner_column names; nothing where all rows are of one keyring. Who slept
    through its lease cannot seal by a key that came later.
    """

    schema: str | None
    table: str
    given: tuple[str, ...]
    needs: str
    owner: str = ""
    owner_column: str = ""
    keys: tuple[bytes, ...] = ()

    @property
    def name(self) -> str:
        """Of the trigger, the same each time: at most 32 characters, of no column's content."""
        place = ".".join([self.schema or "", self.table, self.needs, *([self.owner] if self.owner else [])])
        return f"noisevault_guard_{hashlib.sha256(place.encode()).hexdigest()[:12]}"

    def ddl(self, engine: Engine) -> tuple[str, ...]:
        """The statements that make it."""
        return _MAKE[_family(engine)](self, engine)

    def undo(self, engine: Engine) -> tuple[str, ...]:
        """The statements that take it away; they do nothing where it is not there."""
        return _UNDO[_family(engine)](self, engine)


def make_guard(engine: Engine, guard: Guard) -> None:
    """Make it, unless it is there; afterwards every row that lacks the place is committed and can be seen.

    Raises: ChangeoverError where this role may not, with the statements to run; and when writers do not let go.
    """
    if not is_guarded(engine, guard):
        try:
            _patiently(engine, guard.undo(engine) + guard.ddl(engine), guard.table)
        except DBAPIError as error:
            if not is_not_allowed(error):
                raise
            statements = ";\n".join(guard.ddl(engine))
            raise ChangeoverError(
                f"this role may not make a trigger on {guard.table}: let its owner run what follows, then go on by the"
                f" same command\n{statements};"
            ) from None
    wait_for_writers(engine, guard.schema, guard.table)


def drop_guard(engine: Engine, guard: Guard) -> None:
    """Take it away; nothing where it is not there. Raises: ChangeoverError as make_guard."""
    try:
        _patiently(engine, guard.undo(engine), guard.table)
    except DBAPIError as error:
        if not is_not_allowed(error):
            raise
        statements = ";\n".join(guard.undo(engine))
        raise ChangeoverError(
            f"this role may not drop a trigger of {guard.table}: let its owner run what follows, then go on by the same"
            f" command\n{statements};"
        ) from None


def wait_for_writers(engine: Engine, schema: str | None, table: str) -> None:
    """Until every transaction that has written to the table has ended. Raises: ChangeoverError, ending the wait."""
    name = exact_place(engine, schema, table)
    family = _family(engine)
    if family == "postgresql":
        _patiently(engine, (f"LOCK TABLE {name} IN SHARE ROW EXCLUSIVE MODE",), table)
    elif family == "mariadb":
        _patiently(engine, (f"LOCK TABLES {name} WRITE", "UNLOCK TABLES"), table)
    else:
        _patiently(engine, (), table)  # the one writer of the file


def _patiently(engine: Engine, statements: Sequence[str], table: str) -> None:
    for _ in range(TRIES):
        try:
            with engine.connect() as connection:
                _run(connection, statements)
        except DBAPIError as error:
            if not _has_waited(error):
                raise
        else:
            return
        time.sleep(PAUSE_SECONDS)
    raise ChangeoverError(
        f"some transaction has held {table} for long: end it, or come back later, by the same command"
    )


def _run(connection: Connection, statements: Sequence[str]) -> None:
    family = _family(connection.engine)
    if family == "postgresql":
        with connection.begin():
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {LOCK_MILLISECONDS}")
            for statement in statements:
                connection.exec_driver_sql(for_driver(connection.engine, statement))
        return
    driver: Any = connection.connection
    cursor = driver.cursor()
    try:
        if family == "mariadb":
            cursor.execute(f"SET SESSION lock_wait_timeout = {max(1, LOCK_MILLISECONDS // 1000)}")
            try:
                for statement in statements:
                    cursor.execute(statement)
            finally:
                cursor.execute("SET SESSION lock_wait_timeout = DEFAULT")
            return
        if driver.dbapi_connection.in_transaction:
            driver.rollback()
        cursor.execute("BEGIN IMMEDIATE")
        for statement in statements:
            cursor.execute(statement)
        cursor.execute("COMMIT")
    except connection.dialect.loaded_dbapi.Error as error:
        driver.rollback()
        raise DBAPIError.instance("", (), error, connection.dialect.loaded_dbapi.Error) from None
    finally:
        cursor.close()


def is_guarded(engine: Engine, guard: Guard) -> bool:
    """Whether the guard is there, and in force."""
    with engine.connect() as connection:
        family = _family(engine)
        if family == "postgresql":
            found = connection.execute(
                text(
                    "SELECT t.tgenabled FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
                    " JOIN pg_namespace n ON n.oid = c.relnamespace"
                    " WHERE t.tgname = :name AND c.relname = :table AND n.nspname = COALESCE(:schema, current_schema())"
                ),
                {"name": guard.name, "table": guard.table, "schema": guard.schema},
            ).scalar_one_or_none()
            return found in {"A", b"A"}
        if family == "mariadb":
            statement = (
                "SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = COALESCE(:schema, DATABASE())"
                " AND trigger_name IN (:one, :two)"
            )
        else:
            statement = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'trigger' AND name IN (:one, :two)"
        names = {"one": f"{guard.name}_i", "two": f"{guard.name}_u"}
        if family == "mariadb":
            names["schema"] = guard.schema  # type: ignore[assignment]
        return bool(connection.execute(text(statement), names).scalar_one() == 2)


def _postgres(guard: Guard, engine: Engine) -> tuple[str, ...]:
    table, quote = exact_place(engine, guard.schema, guard.table), partial(exact_name, engine)
    function = exact_place(engine, guard.schema, guard.name)
    lacks = _lacks(guard, quote, "'\\x{}'::bytea")
    changed = " OR ".join(f"NEW.{quote(c)} IS DISTINCT FROM OLD.{quote(c)}" for c in (*guard.given, guard.needs))
    said = MESSAGE.format(guard.table).replace("'", "''")
    make = f"FOR EACH ROW WHEN ({{}}) EXECUTE FUNCTION {function}()"
    refuse = f"$$ BEGIN RAISE EXCEPTION USING MESSAGE = '{said}', ERRCODE = '23514'; END $$"
    return (
        f"CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS {refuse}",
        f"CREATE TRIGGER {guard.name} BEFORE INSERT ON {table} {make.format(lacks)}",
        f"CREATE TRIGGER {guard.name}_u BEFORE UPDATE ON {table} {make.format(f'{lacks} AND ({changed})')}",
        # Also for what logical replication applies, and for a session that calls itself a replica.
        f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {guard.name}_u",
        f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {guard.name}",
    )


def _lacks(guard: Guard, quote: Callable[[str], str], literal: str) -> str:
    """The condition on a new row. literal: how the dialect writes bytes, with a place for the digits."""
    conditions = [*(f"NEW.{quote(c)} IS NOT NULL" for c in guard.given), f"NEW.{quote(guard.needs)} IS NULL"]
    if guard.keys:
        keys = ", ".join(literal.format(key.hex()) for key in guard.keys)
        conditions.append(f"SUBSTR(NEW.{quote(guard.owner_column)}, 3, 4) IN ({keys})")
    return " AND ".join(conditions)


def _no_postgres(guard: Guard, engine: Engine) -> tuple[str, ...]:
    table, function = (exact_place(engine, guard.schema, name) for name in (guard.table, guard.name))
    return (
        f"DROP TRIGGER IF EXISTS {guard.name} ON {table}",
        f"DROP TRIGGER IF EXISTS {guard.name}_u ON {table}",
        f"DROP FUNCTION IF EXISTS {function}()",
    )


def _mariadb(guard: Guard, engine: Engine) -> tuple[str, ...]:
    table, quote = exact_place(engine, guard.schema, guard.table), partial(exact_name, engine)
    lacks = _lacks(guard, quote, "x'{}'")
    changed = " OR ".join(f"NOT (NEW.{quote(c)} <=> OLD.{quote(c)})" for c in (*guard.given, guard.needs))
    lacks_and_changed = f"{lacks} AND ({changed})"
    said = MESSAGE.format(guard.table).replace("'", "''")[:128]
    refuse = f"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{said}'; END IF; END"
    names = [exact_place(engine, guard.schema, f"{guard.name}_{suffix}") for suffix in "iu"]
    return (
        f"CREATE TRIGGER {names[0]} BEFORE INSERT ON {table} FOR EACH ROW BEGIN IF {lacks} THEN {refuse}",
        f"CREATE TRIGGER {names[1]} BEFORE UPDATE ON {table} FOR EACH ROW BEGIN IF {lacks_and_changed} THEN {refuse}",
    )


def _sqlite(guard: Guard, engine: Engine) -> tuple[str, ...]:
    quote = partial(exact_name, engine)
    lacks = _lacks(guard, quote, "x'{}'")
    changed = " OR ".join(f"NEW.{quote(c)} IS NOT OLD.{quote(c)}" for c in (*guard.given, guard.needs))
    said = MESSAGE.format(guard.table).replace("'", "''")
    refuse = f"BEGIN SELECT RAISE(ABORT, '{said}'); END"
    names = [exact_place(engine, guard.schema, f"{guard.name}_{suffix}") for suffix in "iu"]
    table = quote(guard.table)  # of the trigger's own database
    return (
        f"CREATE TRIGGER {names[0]} BEFORE INSERT ON {table} WHEN {lacks} {refuse}",
        f"CREATE TRIGGER {names[1]} BEFORE UPDATE ON {table} WHEN {lacks} AND ({changed}) {refuse}",
    )


def _no_pair(guard: Guard, engine: Engine) -> tuple[str, ...]:
    names = [exact_place(engine, guard.schema, f"{guard.name}_{suffix}") for suffix in "iu"]
    return tuple(f"DROP TRIGGER IF EXISTS {name}" for name in names)


_MAKE: Final = {"postgresql": _postgres, "mariadb": _mariadb, "sqlite": _sqlite}
_UNDO: Final = {"postgresql": _no_postgres, "mariadb": _no_pair, "sqlite": _no_pair}


def _family(engine: Engine) -> str:
    name = engine.dialect.name
    if name in MARIADB:
        return "mariadb"
    if name not in _MAKE:
        raise ChangeoverError(f"no trigger is known for {name}: PostgreSQL, MariaDB and SQLite are")
    return name


def _has_waited(error: DBAPIError) -> bool:
    arguments = getattr(error.orig, "args", ()) or (None,)
    return (
        getattr(error.orig, "sqlstate", None) in {"55P03", "40P01"}
        or arguments[0] in {1205, 1213}
        or "locked" in str(arguments[0])
    )


def is_not_allowed(error: DBAPIError) -> bool:
    """Whether the role lacks a right, for a trigger or its function."""
    arguments = getattr(error.orig, "args", ()) or (None,)
    return getattr(error.orig, "sqlstate", None) in NOT_ALLOWED_SQLSTATES or arguments[0] in NOT_ALLOWED_CODES
