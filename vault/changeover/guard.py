"""Guard: a trigger that refuses a row with a value and without the place that is about to be asked.

It stops a process that slept through its lease, and a replica or a restore that brings back what such a process wrote.
Making it waits for every transaction that has written to the table; so the scan that follows misses none. Where no
trigger can tell (see docs/reindex.md), waiting for those transactions is all that is done.

Only a write of the value or of the place is judged: an update of other columns leaves a row as it was.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from sqlalchemy import Engine, text

from vault.errors import ChangeoverError
from vault.triggers import patient_ddl
from vault.triggers.exact_sql import exact_name, exact_place
from vault.triggers.patient_ddl import family_of, run_or_leave_to_owner

__all__ = ["Guard", "drop_guard", "is_guarded", "make_guard", "wait_for_writers"]

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
        statements = guard.undo(engine) + guard.ddl(engine)
        run_or_leave_to_owner(engine, statements, guard.table, ChangeoverError, f"make a trigger on {guard.table}")
    wait_for_writers(engine, guard.schema, guard.table)


def drop_guard(engine: Engine, guard: Guard) -> None:
    """Take it away; nothing where it is not there. Raises: ChangeoverError as make_guard."""
    doing = f"drop a trigger of {guard.table}"
    run_or_leave_to_owner(engine, guard.undo(engine), guard.table, ChangeoverError, doing)


def wait_for_writers(engine: Engine, schema: str | None, table: str) -> None:
    """Until every transaction that has written to the table has ended. Raises: ChangeoverError, ending the wait."""
    patient_ddl.wait_for_writers(engine, schema, table, ChangeoverError)


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
    return family_of(engine, ChangeoverError)
