"""Pair guard: a trigger that refuses a row whose plaintext and sealed column would not say the same.

It stops what the mapping cannot see: a process that slept through its lease, textual SQL, a program that knows one
column alone. Making it waits for every transaction that has written to the table, so that a scan afterwards misses
none. Only what a statement changes is judged: an update of other columns leaves a row as it was.

paired     a plaintext has a sealed value, and does not change without it
matched    and a sealed value has its plaintext
cleared    there is no new plaintext
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from sqlalchemy import Engine, Table

from vault.errors import ChangeoverError
from vault.triggers.exact_sql import exact_name, exact_place, for_driver
from vault.triggers.patient_ddl import family_of, run_or_leave_to_owner

__all__ = ["PairGuard", "PairRule", "drop_pair_guard", "guarded_by", "make_pair_guard"]

SAID: Final = "noisevault: {} and {} must be written together: name the sealed column, by a process that knows its mode"


class PairRule(Enum):
    PAIRED = "paired"
    MATCHED = "matched"
    CLEARED = "cleared"


@dataclass(frozen=True, slots=True)
class PairGuard:
    """Of one field: the names of its table and both columns in the database."""

    table: Table
    plaintext: str
    sealed: str
    rule: PairRule

    def named(self, rule: PairRule) -> str:
        """The trigger's name, the same each time."""
        place = ".".join([self.table.schema or "", self.table.name, self.sealed])
        return f"noisevault_{rule.value}_{hashlib.sha256(place.encode()).hexdigest()[:12]}"


def make_pair_guard(engine: Engine, guard: PairGuard) -> None:
    """Make it, and then take those of other rules away; nothing where it is there alone.

    Raises: ChangeoverError when writers do not let go, and where this role may not, with the statements to run.
    """
    if guarded_by(engine, guard) == {guard.rule}:
        return
    half_made = _undo(engine, guard, guard.rule)
    others = [one for rule in PairRule if rule is not guard.rule for one in _undo(engine, guard, rule)]
    # MariaDB commits each: at no moment is there none. PostgreSQL commits them as one, and wants the strongest lock
    # first: who asks for more than he has may stand in a ring with a service that does so too.
    if _family(engine) == "postgresql":
        statements = [*others, *half_made, *_ddl(engine, guard)]
    else:
        statements = [*half_made, *_ddl(engine, guard), *others]
    doing = f"change the triggers of {guard.table.name}"
    run_or_leave_to_owner(engine, statements, guard.table.name, ChangeoverError, doing)


def drop_pair_guard(engine: Engine, guard: PairGuard) -> None:
    """Take those of all rules away. Raises: as make_pair_guard."""
    dropped = [one for rule in PairRule for one in _undo(engine, guard, rule)]
    doing = f"change the triggers of {guard.table.name}"
    run_or_leave_to_owner(engine, dropped, guard.table.name, ChangeoverError, doing)


def guarded_by(engine: Engine, guard: PairGuard) -> set[PairRule]:
    """The rules of which there are triggers."""
    asked = {
        "postgresql": "SELECT tgname FROM pg_trigger WHERE tgrelid = '{0}'::regclass AND tgenabled = 'A'",
        "mariadb": "SELECT trigger_name FROM information_schema.triggers"
        " WHERE trigger_schema = COALESCE({1}, DATABASE())",
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
    }[_family(engine)]
    schema = "NULL" if guard.table.schema is None else f"'{guard.table.schema}'"
    with engine.connect() as connection:
        place = _table(engine, guard).replace("'", "''")
        found = {str(row[0]) for row in connection.exec_driver_sql(for_driver(engine, asked.format(place, schema)))}
    return {rule for rule in PairRule if {f"{guard.named(rule)}_i", f"{guard.named(rule)}_u"} <= found}


def _conditions(guard: PairGuard, plain: str, sealed: str, changed: Callable[[str], str]) -> tuple[str, str]:
    """What an INSERT, and an UPDATE, is refused for. changed: that a column is not, byte for byte, what it was."""
    no_plain, no_sealed = f"NEW.{plain} IS NULL", f"NEW.{sealed} IS NULL"
    if guard.rule is PairRule.CLEARED:
        return f"NEW.{plain} IS NOT NULL", f"NEW.{plain} IS NOT NULL AND {changed(plain)}"
    insert = [f"(NEW.{plain} IS NOT NULL AND {no_sealed})"]
    update = [
        f"(NEW.{plain} IS NOT NULL AND {changed(plain)} AND NOT ({changed(sealed)}))",
        f"(NEW.{plain} IS NOT NULL AND {no_sealed} AND (({changed(plain)}) OR ({changed(sealed)})))",
    ]
    if guard.rule is PairRule.MATCHED:
        insert.append(f"(NEW.{sealed} IS NOT NULL AND {no_plain})")
        # Re-encryption changes the sealed value of a row that is not restored yet.
        update.append(
            f"(NEW.{sealed} IS NOT NULL AND {no_plain} AND (OLD.{plain} IS NOT NULL OR OLD.{sealed} IS NULL))"
        )
    return " OR ".join(insert), " OR ".join(update)


def _ddl(engine: Engine, guard: PairGuard) -> list[str]:
    plain, sealed = (exact_name(engine, name) for name in (guard.plaintext, guard.sealed))
    table = _table(engine, guard)
    name = guard.named(guard.rule)
    place = exact_place(engine, guard.table.schema, name)
    said = SAID.format(guard.plaintext, guard.sealed).replace("'", "''")[:120]
    match _family(engine):
        case "postgresql":
            as_bytes = '(NEW.{0})::text COLLATE "C" IS DISTINCT FROM (OLD.{0})::text COLLATE "C"'
            insert, update = _conditions(guard, plain, sealed, as_bytes.format)
            refuse = f"$$ BEGIN RAISE EXCEPTION USING MESSAGE = '{said}', ERRCODE = '23514'; END $$"
            row = f"FOR EACH ROW WHEN ({{}}) EXECUTE FUNCTION {place}()"
            return [
                f"CREATE OR REPLACE FUNCTION {place}() RETURNS trigger LANGUAGE plpgsql AS {refuse}",
                f"CREATE TRIGGER {name}_i BEFORE INSERT ON {table} {row.format(insert)}",
                f"CREATE TRIGGER {name}_u BEFORE UPDATE ON {table} {row.format(update)}",
                # Also for what logical replication applies, and for a session that calls itself a replica.
                f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}_i",
                f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}_u",
            ]
        case "mariadb":
            as_bytes = "NOT (CAST(NEW.{0} AS BINARY) <=> CAST(OLD.{0} AS BINARY))"
            insert, update = _conditions(guard, plain, sealed, as_bytes.format)
            refuse = f"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{said}'; END IF; END"
            return [
                f"CREATE TRIGGER {place}_{kind} BEFORE {event} ON {table} FOR EACH ROW"
                f" BEGIN IF {condition} THEN {refuse}"
                for kind, event, condition in (("i", "INSERT", insert), ("u", "UPDATE", update))
            ]
        case _:
            as_bytes = "CAST(NEW.{0} AS BLOB) IS NOT CAST(OLD.{0} AS BLOB)"
            insert, update = _conditions(guard, plain, sealed, as_bytes.format)
            return [
                f"CREATE TRIGGER {place}_{kind} BEFORE {event} ON {exact_name(engine, guard.table.name)}"
                f" WHEN {condition} BEGIN SELECT RAISE(ABORT, '{said}'); END"
                for kind, event, condition in (("i", "INSERT", insert), ("u", "UPDATE", update))
            ]


def _undo(engine: Engine, guard: PairGuard, rule: PairRule) -> list[str]:
    name = guard.named(rule)
    if _family(engine) != "postgresql":
        return [f"DROP TRIGGER IF EXISTS {exact_place(engine, guard.table.schema, name)}_{kind}" for kind in "iu"]
    table = _table(engine, guard)
    return [
        *(f"DROP TRIGGER IF EXISTS {name}_{kind} ON {table}" for kind in "iu"),
        f"DROP FUNCTION IF EXISTS {exact_place(engine, guard.table.schema, name)}()",
    ]


def _family(engine: Engine) -> str:
    return family_of(engine, ChangeoverError)


def _table(engine: Engine, guard: PairGuard) -> str:
    return exact_place(engine, guard.table.schema, guard.table.name)
